/* What the browser cases share: one Chromium, pages that note every complaint, and a small server. */
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const WEB = join(dirname(fileURLToPath(import.meta.url)), "../../web");
const require = createRequire(WEB + "/");
const { chromium } = require("playwright-core");
/* Modules of web/src, for cases that need no browser. */
export async function sources(...names) {
    const { build } = require("esbuild");
    const text = names.map((n) => `export * from "./${n}";`).join("\n");
    const made = await build({
        stdin: { contents: text, resolveDir: join(WEB, "src") },
        bundle: true,
        format: "esm",
        write: false,
    });
    return import(
        "data:text/javascript;base64," +
            Buffer.from(made.outputFiles[0].contents).toString("base64")
    );
}

const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");

export function expect(holds, ...what) {
    if (!holds)
        throw new Error(
            what
                .map((w) => (typeof w === "string" ? w : JSON.stringify(w)))
                .join(" ")
                .slice(0, 3000),
        );
}

export async function launch() {
    return chromium.launch({
        executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
        args: ["--no-sandbox", "--disable-dev-shm-usage"],
    });
}

/* A page of its own. `said` has what its console, its uncaught errors and its policy said, and
 * requests that left the machine or the server. */
export async function open(
    browser,
    address,
    { width = 1280, height = 900, scheme = "light", touch = false, allowed = null } = {},
) {
    const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: scheme,
        hasTouch: touch,
    });
    const page = await context.newPage(),
        said = [];
    page.on("console", (m) => said.push(`console ${m.type()}: ${m.text()}`));
    page.on("pageerror", (e) => said.push("error: " + e.message));
    page.on("dialog", (d) => (said.push("dialog: " + d.message()), d.dismiss()));
    page.on("request", (r) => {
        if (!/^(file|data):/.test(r.url()) && !(allowed && r.url().startsWith(allowed)))
            said.push("request: " + r.url());
    });
    await page.addInitScript(() =>
        addEventListener("securitypolicyviolation", (e) =>
            console.error("policy:", e.violatedDirective, e.blockedURI),
        ),
    );
    await page.goto(address);
    await page.waitForSelector("#page > *");
    await settled(page);
    page.said = said;
    return page;
}

/* Two frames, so that what was asked for is drawn. */
export async function settled(page) {
    await page.evaluate(
        () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
}

/* Until a function holds in the page. Playwright's own way needs eval, which the policy forbids. */
export async function until(page, holds, argument) {
    const end = Date.now() + 20000;
    while (!(await page.evaluate(holds, argument))) {
        expect(Date.now() < end, "it never came to be:", String(holds));
        await page.waitForTimeout(50);
    }
}

export async function openAll(page) {
    await page.evaluate(() => {
        for (const d of document.querySelectorAll("details")) d.open = true;
    });
    await settled(page);
}

export function silent(page, what) {
    expect(page.said.length === 0, what, page.said);
}

export async function violations(page) {
    await page.evaluate(axe);
    const found = await page.evaluate(() =>
        globalThis.axe.run(document, { resultTypes: ["violations"] }),
    );
    return found.violations.map(
        (v) =>
            `${v.id}: ${v.nodes
                .slice(0, 3)
                .map((n) => `${n.target.join(" ")} ${n.any.map((a) => a.message).join("; ")}`)
                .join(" | ")}`,
    );
}

/* The main chart's places of the axis: its first and its last label. */
export async function axis(page) {
    return page.$$eval(".picture .axes text[text-anchor=middle]", (t) =>
        t.map((e) => e.textContent),
    );
}

const TYPES = { "page.js": "text/javascript", "page.css": "text/css" };
const POLICY =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* The live page of a document that the test changes: docs/PAGE.md, "What a server offers". */
export class Server {
    constructor(data) {
        this.data = data;
        this.streams = new Set();
        this.asked = [];
        this.port = 0;
        this.span = null;
    }

    async start() {
        this.server = createServer((request, answer) => void this.answer(request, answer));
        await new Promise((done) => this.server.listen(this.port, "127.0.0.1", done));
        this.port = this.server.address().port;
        return `http://127.0.0.1:${this.port}/`;
    }

    async answer(request, answer) {
        const [path] = request.url.slice(1).split("?");
        this.asked.push(request.url.slice(1));
        const send = (type, body, status = 200) =>
            answer
                .writeHead(status, {
                    "Content-Type": type,
                    "Content-Security-Policy": POLICY,
                })
                .end(body);
        if (path === "")
            send(
                "text/html; charset=utf-8",
                `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><title>live</title><link rel="stylesheet" href="page.css"><script defer src="page.js"></script></head><body><main id="page"></main></body></html>`,
            );
        else if (path in TYPES) send(TYPES[path], await readFile(join(WEB, "built", path)));
        else if (path === "data.json") send("application/json", JSON.stringify(this.data));
        else if (path === "span.json" && this.span)
            send("application/json", JSON.stringify(this.span));
        else if (path === "events") {
            answer.writeHead(200, {
                "Content-Type": "text/event-stream",
                "Content-Security-Policy": POLICY,
            });
            answer.write("retry: 300\n\n");
            this.streams.add(answer);
            answer.on("close", () => this.streams.delete(answer));
        } else send("text/plain", "not here", 404);
    }

    say(event) {
        for (const stream of this.streams) stream.write(`event: ${event}\ndata: {}\n\n`);
    }

    async stop() {
        for (const stream of this.streams) stream.destroy();
        this.server.closeAllConnections();
        await new Promise((done) => this.server.close(done));
    }
}
