/* Cases in which a server keeps the page up to date: a small one of the tests, and the program's own. */
import { Server, axis, expect, open, settled, silent, until, violations } from "./browser.mjs";
import { data, file, sane, text } from "./pages.mjs";

export const cases = {
    /* A running job, in the folder that this case is given alone. */
    async a_running_job_is_shown(browser) {
        const page = await open(browser, file("running"));
        await sane(page, "running");
        expect((await text(page, ".about")).includes("running"), await text(page, ".about"));
    },

    /* The program's own server, whose address is in SERVER. */
    async the_server_shows_the_same(browser) {
        const address = process.env.SERVER,
            page = await open(browser, address, { allowed: address });
        await until(page, () => document.querySelectorAll(".runs li a").length > 5);
        const bad = await violations(page);
        expect(bad.length === 0, bad);
        await page.click(".runs a:text-is('leak.tide')");
        await page.waitForSelector(".badge");
        await settled(page);
        expect((await text(page, ".badge")).includes("LEAK"), await text(page, ".badge"));
        await sane(page, "leak.tide");
        await page.goBack();
        await until(page, () =>
            [...document.querySelectorAll(".runs a")].some((a) => a.textContent === "markup.tide"),
        );
        await page.click(".runs a:text-is('markup.tide')");
        await page.waitForSelector(".badge");
        await settled(page);
        await sane(page, "markup.tide");
    },

    async folder_lists_its_runs(browser) {
        const server = new Server({
            page: "runs",
            title: "runs/",
            runs: [
                {
                    href: "train/",
                    name: "train.tide",
                    verdict: "leak",
                    severity: "medium",
                    summary: "LEAK (medium): grows",
                    seconds: 61,
                    started: 1763569800.5,
                    live: true,
                    command: "python train.py",
                },
                {
                    href: "javascript:window.hacked=1",
                    name: "<img src=x onerror=window.hacked=1>",
                    verdict: "no_leak",
                    summary: "NO LEAK: flat",
                },
                { href: "//elsewhere.invalid/", name: "other" },
                { href: "\tjavascript:window.hacked=1", name: "tab" },
                { name: "bare" },
            ],
        });
        const address = await server.start();
        const page = await open(browser, address, { allowed: address });
        await page.waitForSelector(".runs li");
        const links = await page.$$eval(".runs a", (all) => all.map((a) => a.href));
        expect(
            links.length === 1 && links[0] === address + "train/",
            "only what lies below is linked",
            links,
        );
        expect(
            (await page.$$eval(".runs .chip", (c) => c.map((e) => e.textContent)))
                .join()
                .startsWith("LEAK (medium),NO LEAK"),
            "verdicts",
        );
        await page.fill("input[type=search]", "bare");
        expect((await page.$$(".runs li")).length === 1, "the filter filters");
        await page.fill("input[type=search]", "");
        server.data.runs.push({
            href: "new/",
            name: "new.tide",
            verdict: "inconclusive",
        });
        server.say("change");
        await until(page, () => document.querySelectorAll(".runs li").length === 6);
        const bad = [...(await violations(page)), ...page.said];
        expect(bad.length === 0, bad);
        await server.stop();
    },

    async live_page_follows_and_keeps_its_view(browser) {
        const full = data("leak"),
            early = structuredClone(full),
            server = new Server(early);
        early.live = true;
        early.opening.verdict = "INCONCLUSIVE: too early to say";
        early.answer.verdict = "inconclusive";
        full.live = true;
        const address = await server.start();
        const page = await open(browser, address, { allowed: address });
        await until(page, () => document.querySelector(".state")?.textContent === "live");
        expect((await text(page, ".badge")).includes("INCONCLUSIVE"), "the early verdict");
        await page.click("button:text-is('Time')");
        await page.focus(".picture .plot");
        await page.keyboard.press("+");
        await page.click(".rows li:nth-child(2) .row");
        await page.click(".picture details.data > summary");
        await page.focus(".series input[type=search]");
        await settled(page);
        const places = await axis(page),
            chosen = await text(page, ".picture h2");
        server.data = full;
        server.say("change");
        await until(page, () => document.querySelector(".badge").textContent.startsWith("LEAK"));
        await settled(page);
        expect(
            (await axis(page)).join() === places.join(),
            "the zoom stays",
            await axis(page),
            places,
        );
        expect((await text(page, ".picture h2")) === chosen, "the chosen series stays");
        expect(
            await page.$eval(".picture details.data", (d) => d.open),
            "what was open stays open",
        );
        expect(
            await page.evaluate(() => document.activeElement.matches(".series input")),
            "the focus stays",
        );
        const asked = server.asked.filter((a) => a === "data.json").length;
        for (let i = 0; i < 20; i++) server.say("change");
        await page.waitForTimeout(1500);
        expect(
            server.asked.filter((a) => a === "data.json").length <= asked + 1,
            "a storm of changes is one question",
        );
        silent(page, "live");
        await server.stop();
        await until(page, () => /not connected/.test(document.querySelector(".state").textContent));
        page.said.length = 0; // the browser itself complains of the lost connection
        await server.start();
        await until(page, () => document.querySelector(".state").textContent === "live");
        page.said.length = 0;
        server.say("end");
        await until(page, () => /ended/.test(document.querySelector(".state").textContent));
        silent(page, "after the end");
        await server.stop();
    },

    async zoom_asks_for_finer_detail(browser) {
        const run = data("leak"),
            server = new Server(run);
        run.live = true;
        const curve = run.curves.find((c) => c.id === run.charts[run.deciding].id);
        curve.samples = 1e6;
        const from = Math.round(1000 * (curve.levels[0].t[0] / 1000)),
            size = 4000,
            top = Math.round(900e6 / 4096);
        server.span = {
            scale: 4096,
            t: [from, ...Array(size).fill(10)],
            low: [25000, ...Array(size).fill(0)],
            high: [
                0,
                ...Array(size)
                    .fill(0)
                    .map((_, i) => (i % 2 ? top : 0)),
            ],
        };
        const address = await server.start();
        const page = await open(browser, address, { allowed: address });
        await page.waitForSelector(".picture svg .range");
        const whole = await page.$eval(".picture svg .range", (e) => e.getAttribute("d").length);
        await page.focus(".picture .plot");
        for (let i = 0; i < 3; i++) await page.keyboard.press("+");
        await page.waitForTimeout(800);
        const asked = server.asked.filter((a) => a.startsWith("span.json"));
        expect(
            asked.length === 1 &&
                new RegExp(`series=${curve.id}&from=[\\d.]+&to=[\\d.]+&points=\\d+`).test(asked[0]),
            "it asks once, when the view rests",
            asked,
        );
        await until(
            page,
            (before) =>
                document.querySelector(".picture svg .range").getAttribute("d").length > before,
            whole,
        );
        silent(page, "span");
        await server.stop();
    },
};
