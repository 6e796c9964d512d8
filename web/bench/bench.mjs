/* bench.mjs PAGE.html: times in a real Chromium, one JSON line each. Called by bench/page.py. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url)),
    ROUNDS = 7,
    POINTS = 1e6;
const folder = await mkdtemp(join(tmpdir(), "tidemark-bench-"));
await build({
    entryPoints: [join(here, "points.ts")],
    bundle: true,
    minify: true,
    format: "iife",
    outfile: join(folder, "points.js"),
    logLevel: "error",
});
await writeFile(
    join(folder, "points.html"),
    `<!DOCTYPE html><meta charset="utf-8"><style>.plot svg{width:1200px}</style><body><script src="points.js"></script>`,
);

const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const median = (all) => [...all].sort((a, b) => a - b)[all.length >> 1];
const say = (what, times) =>
    console.log(
        JSON.stringify({
            what,
            ...Object.fromEntries(
                Object.keys(times[0]).map((k) => [k, median(times.map((t) => t[k]))]),
            ),
        }),
    );

for (const [what, name] of [
    ["a million points straight into the chart", "ours"],
    ["a million points into uPlot", "others"],
]) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } }),
        times = [];
    await page.goto("file://" + join(folder, "points.html"));
    for (let i = 0; i < ROUNDS; i++)
        times.push(await page.evaluate(([n, count]) => window.bench[n](count), [name, POINTS]));
    say(what, times);
    await page.close();
}

/* What the browser itself takes, for any page. */
const empty = [];
await writeFile(join(folder, "empty.html"), "<!DOCTYPE html><title>empty</title><p>text");
for (let i = 0; i < ROUNDS; i++) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto("file://" + join(folder, "empty.html"));
    empty.push({
        first: await page.evaluate(
            () =>
                new Promise((done) =>
                    new PerformanceObserver((list) =>
                        done(list.getEntriesByName("first-contentful-paint")[0].startTime),
                    ).observe({ type: "paint", buffered: true }),
                ),
        ),
    });
    await page.close();
}
say("a page of one word", empty);

/* First paint as a reader has it: from the start of navigation, HTML and data parsed, chart drawn. */
const times = [];
for (let i = 0; i < ROUNDS; i++) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto("file://" + process.argv[2]);
    await page.waitForSelector(".picture svg .range", { state: "attached" });
    times.push(
        await page.evaluate(async () => {
            const frame = () =>
                new Promise((done) =>
                    requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)),
                );
            const first =
                performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN;
            const timed = async (act) => {
                const start = performance.now();
                act();
                return (await frame()) - start;
            };
            const plot = document.querySelector(".picture .plot");
            const press = (key, shiftKey = false) =>
                plot.dispatchEvent(
                    new KeyboardEvent("keydown", {
                        key,
                        shiftKey,
                        bubbles: true,
                        cancelable: true,
                    }),
                );
            await frame();
            return {
                first,
                zoom: await timed(() => {
                    press("+");
                    press("+");
                }),
                pan: await timed(() => press("ArrowRight", true)),
            };
        }),
    );
    await page.close();
}
say("the page of a run of a million samples", times);
await browser.close();
