/* cases.mjs FOLDER CASE: one case in a real Chromium, on the pages in FOLDER (tests/page/runs.py). */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Server, axis, expect, launch, open, openAll, settled, silent, sources, until, violations } from "./browser.mjs";

const [folder, wanted] = process.argv.slice(2);
const file = (name) => "file://" + join(folder, name + ".html");
const data = (name) => JSON.parse(readFileSync(join(folder, name + ".json"), "utf8"));
const pages = (wanted === "--list" ? [] : readdirSync(folder)).filter((n) => n.endsWith(".html")).map((n) => n.slice(0, -5));
const HOSTILE = ["markup", "traced-hostile", "many", "no-steps", "one-sample", "nothing"];

const text = (page, selector) => page.$eval(selector, (e) => e.textContent);

/* Of every element that holds text: what is outside the window, and what is too small to read. */
const unreadable = (page) => page.evaluate(() => {
    const bad = [];
    if (document.documentElement.scrollWidth > innerWidth) bad.push("the page scrolls sideways: " + document.documentElement.scrollWidth);
    for (const e of document.querySelectorAll("#page *")) {
        const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        if (!own || e.closest(".visually-hidden, .scroll, .boxes, [hidden]")) continue;
        const box = e.getBoundingClientRect();
        if (!box.width || !box.height) continue;
        if (parseFloat(getComputedStyle(e).fontSize) < 11) bad.push("small: " + e.textContent.slice(0, 40));
        if (box.right > innerWidth + 1 || box.left < -1) bad.push(`outside (${box.left} to ${box.right}): ` + e.textContent.slice(0, 40));
    }
    return bad.slice(0, 5);
});

/* What no view may show, however little is known. */
const NONSENSE = /\bNaN\b|undefined|\[object|Infinity/;

async function sane(page, name) {
    silent(page, name);
    expect(!(await page.evaluate(() => "hacked" in window)), name, "ran a script of the run");
    expect((await page.$$("#page img, #page script, #page iframe, #page svg[onload], #page [onerror]")).length === 0, name, "has foreign elements");
    const shown = await page.$eval("#page", (e) => e.innerText);
    expect(!NONSENSE.test(shown), name, "shows", shown.match(NONSENSE)?.[0], shown.slice(Math.max(0, shown.search(NONSENSE) - 100), shown.search(NONSENSE) + 100));
    const paths = await page.$$eval("#page svg [d], #page svg [x], #page svg [cx]", (all) => all.map((e) => ["d", "x", "y", "cx", "cy", "width", "height"].map((n) => e.getAttribute(n) ?? "").join(" ")).filter((d) => /NaN|Infinity|undefined/.test(d)));
    expect(paths.length === 0, name, "draws", paths.slice(0, 2));
}

const cases = {
    async every_run_is_shown(browser) {
        for (const name of pages) {
            const page = await open(browser, file(name));
            await sane(page, name);
            await page.context().close();
        }
        return `${pages.length} pages`;
    },

    async hostile_runs_run_nothing(browser) {
        for (const name of HOSTILE) {
            const page = await open(browser, file(name), { scheme: "dark" });
            await openAll(page);
            await sane(page, name);
            await page.context().close();
        }
        const page = await open(browser, file("markup"));
        expect((await text(page, ".command")).includes("<img src=x"), "markup is shown as text", await text(page, ".command"));
    },

    async a_leak_is_told_at_first_sight(browser) {
        const page = await open(browser, file("leak")), run = data("leak");
        expect((await text(page, ".badge")).includes("LEAK"), await text(page, ".badge"));
        expect((await page.$$(".badge svg .shape")).length === 1, "the verdict has a shape");
        const fold = await page.$eval("#page", () => [...document.querySelectorAll(".opening, .picture svg .floor.growing, .picture .callout")].every((e) => e.getBoundingClientRect().bottom <= innerHeight));
        expect(fold, "verdict, fix and picture are in the first window");
        const picture = await text(page, ".picture .plot svg"), texts = run.texts[run.deciding];
        const rate = texts.rate.replace(/ \(.*/, ""), finding = run.answer.findings[0];
        for (const words of [rate, "since " + texts.since, finding.name, `:${finding.line}`, texts.alarm])
            expect(picture.includes(words), "the picture says", words, picture);
        expect((await text(page, ".opening")).includes(run.opening.next.replaceAll("`", "")), "the fix");
    },

    async a_warm_up_and_spikes_are_no_leak(browser) {
        let page = await open(browser, file("spikes"));
        const run = data("spikes"), spikes = run.charts[run.deciding].spikes ?? [];
        expect(spikes.length > 0, "the recording has spikes");
        expect((await page.$$(".picture svg .spike")).length === spikes.length, "each spike is marked");
        for (const name of new Set(spikes.map((k) => k.during).filter(Boolean)))
            expect((await page.$$eval(".picture svg .spike-name", (e) => e.map((t) => t.textContent))).includes(name), "a spike is named", name);
        expect((await page.$$(".picture svg .floor.growing")).length === 0, "nothing in it looks like a leak");
        page = await open(browser, file("calm"));
        expect((await text(page, ".badge")).includes("NO LEAK"), await text(page, ".badge"));
    },

    async numbers_are_those_of_the_report(browser) {
        for (const name of ["leak", "device", "killed", "calm"]) {
            const page = await open(browser, file(name)), run = data(name);
            const rows = await page.$$eval(".rows .row", (all) => all.map((r) => r.innerText));
            run.answer.series.forEach((series, i) => {
                const row = rows.find((r) => r.includes(series.name));
                if (row && run.texts[i].rate) expect(row.includes(run.texts[i].rate.replace(/ \(.*/, "")), name, series.name, run.texts[i].rate, row);
            });
        }
    },

    async units_are_those_of_the_reports() {
        const { bytes, count, duration, percent } = await sources("units"), MB = 1048576;
        const same = [[bytes(512), "512 B"], [bytes(16384), "16.0 KB"], [bytes(2.3 * MB), "2.30 MB"], [bytes(9566 * MB), "9.34 GB"],
            [bytes(1023.6), "1.00 KB"], [bytes(1023.7 * MB), "1.00 GB"], [bytes(1000 * MB), "1000 MB"], [bytes(9.996 * MB), "10.0 MB"],
            [bytes(99.96 * MB), "100 MB"], [bytes(0), "0 B"], [bytes(0.25), "0.25 B"], [bytes(1.5), "1.5 B"], [bytes(1000), "1000 B"],
            [bytes(-4.2 * MB), "-4.20 MB"], [bytes(NaN), "?"], [count(1234567), "1,234,567"], [count(NaN), "?"], [duration(0), "0 s"],
            [duration(0.0012), "1.2 ms"], [duration(89), "89 s"], [duration(90), "1.5 min"], [duration(7200), "2 h"],
            [duration(Infinity), "?"], [percent(0.345), "35 %"], [percent(0.0123), "1.2 %"]];
        for (const [got, wanted] of same) expect(got === wanted, got, "is not", wanted);
    },

    /* Whatever level is drawn, nothing of the curve is above or below it. */
    async levels_hold_all_samples() {
        const { Pyramid, decode } = await sources("pyramid");
        const size = 50000, t = new Float64Array(size), v = new Float64Array(size);
        for (let i = 0, seed = 7; i < size; i++) seed = (seed * 48271) % 2147483647, t[i] = i * 0.01, v[i] = (seed % 1000) + (i === 31234 ? 1e6 : 0);
        const pyramid = Pyramid.ofSamples(t, v);
        for (const [from, to] of [[0, 500], [100, 400], [312, 313], [312.33, 312.35], [499, 900], [-5, 0.01]])
            for (const wanted of [1, 50, 1000]) {
                const got = pyramid.pick(from, to, wanted), inside = [...v].filter((_, i) => t[i] >= from && t[i] <= to);
                expect(Math.max(...got.high) >= Math.max(...inside) && Math.min(...got.low) <= Math.min(...inside), from, to, wanted);
                expect(got.t.length >= Math.min(wanted, inside.length), "enough blocks", from, to, wanted, got.t.length);
                expect(got.t.length <= 5 * wanted + inside.length / 1000 + 70, "not too many", from, to, wanted, got.t.length);
            }
        const blocks = decode({ scale: 4096, t: [100, 5, 5], low: [10, -2, 0], high: [0, 3, 1] });
        expect(JSON.stringify([[...blocks.t], [...blocks.low], [...blocks.high]]) === JSON.stringify([[0.1, 0.105, 0.11], [40960, 32768, 32768], [40960, 45056, 36864]]), [...blocks.low], [...blocks.high]);
    },

    async steps_and_seconds_map_both_ways() {
        const { Clock } = await sources("clock");
        const clock = new Clock({ page: "run", steps: { seconds: [1, 2, 2, 4, 3, 8], step: [10, 20, 25, 60, 61, 100] } });
        for (const at of [1, 1.5, 2, 3.3, 4, 7, 8]) expect(Math.abs(clock.seconds("step", clock.position("step", at)) - at) < 1e-9, at);
        expect(clock.position("step", 16) > 150, "steps go on beyond the end");
        expect(clock.position("s", 3.3) === 3.3 && !new Clock({ page: "run", steps: { seconds: [1], step: [1] } }).hasSteps, "seconds stay");
    },

    /* A running job, in the folder that this case is given alone. */
    async a_running_job_is_shown(browser) {
        const page = await open(browser, file("running"));
        await sane(page, "running");
        expect((await text(page, ".about")).includes("running"), await text(page, ".about"));
    },

    /* The program's own server, whose address is in SERVER. */
    async the_server_shows_the_same(browser) {
        const address = process.env.SERVER, page = await open(browser, address, { allowed: address });
        await until(page, () => document.querySelectorAll(".runs li a").length > 5);
        const bad = await violations(page);
        expect(bad.length === 0, bad);
        await page.click(".runs a:text-is('leak.tide')");
        await page.waitForSelector(".badge");
        await settled(page);
        expect((await text(page, ".badge")).includes("LEAK"), await text(page, ".badge"));
        await sane(page, "leak.tide");
        await page.goBack();
        await until(page, () => [...document.querySelectorAll(".runs a")].some((a) => a.textContent === "markup.tide"));
        await page.click(".runs a:text-is('markup.tide')");
        await page.waitForSelector(".badge");
        await settled(page);
        await sane(page, "markup.tide");
    },

    async chart_answers_the_mouse(browser) {
        const page = await open(browser, file("leak")), whole = await axis(page);
        const box = await page.$eval(".picture .plot svg", (e) => { const b = e.getBoundingClientRect(); return { x: b.x, y: b.y, w: b.width, h: b.height }; });
        const at = (share) => [box.x + box.w * share, box.y + box.h / 2];
        await page.mouse.move(...at(0.5));
        const tip = await text(page, ".picture .tip");
        expect(/step [\d,]+/.test(tip) && /floor/.test(tip) && /MB/.test(tip), "hover says", tip);
        await page.mouse.down();
        await page.mouse.move(...at(0.6));
        await page.mouse.move(...at(0.7));
        await page.mouse.up();
        await settled(page);
        const zoomed = await axis(page);
        expect(zoomed.join() !== whole.join(), "a drag zooms", zoomed);
        await page.keyboard.down("Shift");
        await page.mouse.move(...at(0.7));
        await page.mouse.down();
        await page.mouse.move(...at(0.3));
        await page.mouse.up();
        await page.keyboard.up("Shift");
        await settled(page);
        const panned = await axis(page);
        expect(panned.join() !== zoomed.join(), "a drag with Shift pans", panned);
        await page.mouse.dblclick(...at(0.5));
        await settled(page);
        expect((await axis(page)).join() === whole.join(), "a double click shows all");
        await page.keyboard.down("Control");
        await page.mouse.wheel(0, -300);
        await page.keyboard.up("Control");
        await settled(page);
        expect((await axis(page)).join() !== whole.join(), "Ctrl and the wheel zoom");
        await page.click("button[aria-label='Show all']");
        await settled(page);
        expect((await axis(page)).join() === whole.join(), "the button shows all");
        const scroll = await page.evaluate(() => scrollY);
        await page.mouse.move(...at(0.5));
        await page.mouse.wheel(0, 300);
        await until(page, (s) => scrollY > s, scroll);
        silent(page, "mouse");
    },

    async everything_answers_keys(browser) {
        const page = await open(browser, file("traced-loop")), whole = await axis(page);
        await page.focus(".picture .plot");
        await page.keyboard.press("ArrowRight");
        const said = await text(page, ".picture [aria-live]");
        expect(/floor|measured/.test(said), "the cursor is read out", said);
        await page.keyboard.press("+");
        await settled(page);
        const zoomed = await axis(page);
        expect(zoomed.join() !== whole.join(), "plus zooms");
        await page.keyboard.press("Shift+ArrowRight");
        await settled(page);
        expect((await axis(page)).join() !== zoomed.join(), "Shift and an arrow pan");
        await page.keyboard.press("0");
        await settled(page);
        expect((await axis(page)).join() === whole.join(), "0 shows all");
        await page.focus(".flame .box");
        const root = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
        await page.keyboard.press("ArrowDown");
        const child = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
        expect(child && child !== root, "arrows go down the stacks", root, child);
        await page.keyboard.press("Enter");
        expect((await page.$$(".flame .box.caller")).length === 1, "Enter zooms the stacks");
        await page.keyboard.press("Escape");
        expect((await page.$$(".flame .box.caller")).length === 0, "Escape shows all stacks");
        // Every control is reached by Tab, and none holds it.
        const reached = new Set();
        await page.evaluate(() => { document.activeElement.blur(); document.body.focus(); });
        const controls = await page.$$eval("#page :is(button, a, input, select, summary, [tabindex='0'])", (all) => all.filter((e) => e.tabIndex >= 0 && e.checkVisibility() && !e.disabled).length);
        for (let i = 0; i < controls + 2; i++) {
            await page.keyboard.press("Tab");
            reached.add(await page.evaluate(() => { const e = document.activeElement; return e === document.body ? "" : [...document.querySelectorAll("*")].indexOf(e); }));
        }
        reached.delete("");
        expect(reached.size >= controls - 1, "Tab reaches", reached.size, "of", controls);
        silent(page, "keys");
    },

    async axis_shows_steps_or_time(browser) {
        const page = await open(browser, file("leak")), steps = await axis(page);
        await page.click("button:text-is('Time')");
        await settled(page);
        const times = await axis(page);
        expect(steps.every((t) => /^[\d,.]+$/.test(t)) && times.every((t) => / (s|min|h)$/.test(t)), steps, times);
        await page.click("button:text-is('Forecast')");
        await settled(page);
        expect((await page.$$(".picture svg .limit")).length === 1, "the forecast reaches the limit");
        const none = await open(browser, file("no-steps"));
        expect(await none.$eval("[aria-label=Axis]", (e) => e.hidden), "without steps there is no choice");
        silent(page, "axis");
    },

    async another_series_can_be_chosen(browser) {
        const page = await open(browser, file("leak"));
        const name = await page.$eval(".rows li:nth-child(3) .row", (e) => e.querySelector(".name").firstChild.data);
        await page.click(".rows li:nth-child(3) .row");
        await settled(page);
        expect((await text(page, ".picture h2")) === name, "the chart shows", await text(page, ".picture h2"), name);
        expect((await page.$$eval(".row[aria-pressed=true]", (r) => r.length)) === 1, "one is chosen");
        const before = (await page.$$(".rows .row")).length;
        await page.fill(".series input[type=search]", "threads");
        const found = await page.$$eval(".rows .row", (all) => all.map((r) => r.innerText));
        expect(found.length > 0 && found.every((r) => r.includes("threads")), found);
        await page.fill(".series input[type=search]", "");
        expect((await page.$$(".rows .row")).length >= before, "all are back");
        await page.check("#recorded");
        const more = page.locator(".rows button.plain");
        if (await more.count()) await more.click();
        const recorded = page.locator(".row", { hasText: "recorded" }).first();
        await recorded.click();
        await settled(page);
        await sane(page, "a recorded series");
    },

    async tree_adds_up(browser) {
        const page = await open(browser, file("workers"));
        for (const grouping of ["Role", "Process", "Kind"]) {
            await page.click(`.tree button:text-is('${grouping}')`);
            await settled(page);
            await page.focus(".tree .plot");
            await page.keyboard.press("End");
            const said = await text(page, ".tree [aria-live]");
            const sizes = [...said.matchAll(/([\d.]+) (B|KB|MB|GB)(?=,|$)/g)].map((m) => m[1] * { B: 1, KB: 1024, MB: 1048576, GB: 1073741824 }[m[2]]);
            const [sum, ...parts] = sizes, added = parts.reduce((a, b) => a + b, 0);
            expect(parts.length > 0 && Math.abs(sum - added) < 0.02 * sum + 1024, grouping, said);
        }
        await page.click(".tree button:text-is('Process')");
        const areas = (await page.$$(".tree .area")).length;
        await page.click(".tree .legend-key >> nth=0");
        await settled(page);
        expect((await page.$$(".tree .area")).length === areas - 1, "the legend filters");
        silent(page, "tree");
    },

    async ledger_opens_to_its_evidence(browser) {
        const page = await open(browser, file("leak"));
        const parts = page.locator(".ledger details.part");
        expect((await parts.count()) > 0, "there are parts");
        await parts.first().locator("summary").first().click();
        expect((await parts.first().locator(".evidence").innerText()).length > 20, "with evidence");
        const widths = await page.$$eval(".ledger .bar", (bars) => bars.map((b) => [...b.children].every((i) => i.getBoundingClientRect().right <= b.getBoundingClientRect().right + 1)));
        expect(widths.every(Boolean), "no bar is wider than the growth");
        silent(page, "ledger");
    },

    async flame_is_searched_and_zoomed(browser) {
        const page = await open(browser, file("traced-loop")), all = (await page.$$(".flame .box")).length;
        expect(all > 5, "stacks are drawn", all);
        await page.fill(".flame input[type=search]", "remember");
        expect((await page.$$(".flame .box.hit")).length > 0, "a hit is shown");
        expect(/[\d.]+ %/.test(await text(page, ".flame .where")), await text(page, ".flame .where"));
        await page.fill(".flame input[type=search]", "");
        await page.click(".flame .box >> nth=2");
        expect((await page.$$(".flame .box.caller")).length > 0, "a click zooms");
        await page.click(".flame button:text-is('Whole')");
        await page.click(".flame button:text-is('Live')");
        await settled(page);
        await sane(page, "flame");
    },

    async a_table_stands_behind_every_chart(browser) {
        const page = await open(browser, file("traced-loop"));
        for (const section of ["picture", "tree", "ledger", "flame"]) {
            const details = page.locator(`.${section} details.data`).first();
            await details.locator("summary").click();
            await details.locator("tbody tr").first().waitFor({ state: "attached" });
        }
        await settled(page);
        await sane(page, "tables");
    },

    async folder_lists_its_runs(browser) {
        const server = new Server({ page: "runs", title: "runs/", runs: [
            { href: "train/", name: "train.tide", verdict: "leak", severity: "medium", summary: "LEAK (medium): grows", seconds: 61, started: 1763569800.5, live: true, command: "python train.py" },
            { href: "javascript:window.hacked=1", name: "<img src=x onerror=window.hacked=1>", verdict: "no_leak", summary: "NO LEAK: flat" },
            { href: "//elsewhere.invalid/", name: "other" }, { href: "\tjavascript:window.hacked=1", name: "tab" }, { name: "bare" }] });
        const address = await server.start();
        const page = await open(browser, address, { allowed: address });
        await page.waitForSelector(".runs li");
        const links = await page.$$eval(".runs a", (all) => all.map((a) => a.href));
        expect(links.length === 1 && links[0] === address + "train/", "only what lies below is linked", links);
        expect((await page.$$eval(".runs .chip", (c) => c.map((e) => e.textContent))).join().startsWith("LEAK (medium),NO LEAK"), "verdicts");
        await page.fill("input[type=search]", "bare");
        expect((await page.$$(".runs li")).length === 1, "the filter filters");
        await page.fill("input[type=search]", "");
        server.data.runs.push({ href: "new/", name: "new.tide", verdict: "inconclusive" });
        server.say("change");
        await until(page, () => document.querySelectorAll(".runs li").length === 6);
        const bad = [...await violations(page), ...page.said];
        expect(bad.length === 0, bad);
        await server.stop();
    },

    async live_page_follows_and_keeps_its_view(browser) {
        const full = data("leak"), early = structuredClone(full), server = new Server(early);
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
        const places = await axis(page), chosen = await text(page, ".picture h2");
        server.data = full;
        server.say("change");
        await until(page, () => document.querySelector(".badge").textContent.startsWith("LEAK"));
        await settled(page);
        expect((await axis(page)).join() === places.join(), "the zoom stays", await axis(page), places);
        expect((await text(page, ".picture h2")) === chosen, "the chosen series stays");
        expect(await page.$eval(".picture details.data", (d) => d.open), "what was open stays open");
        expect(await page.evaluate(() => document.activeElement.matches(".series input")), "the focus stays");
        const asked = server.asked.filter((a) => a === "data.json").length;
        for (let i = 0; i < 20; i++) server.say("change");
        await page.waitForTimeout(1500);
        expect(server.asked.filter((a) => a === "data.json").length <= asked + 1, "a storm of changes is one question");
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
        const run = data("leak"), server = new Server(run);
        run.live = true;
        const curve = run.curves.find((c) => c.id === run.charts[run.deciding].id);
        curve.samples = 1e6;
        const from = Math.round(1000 * (curve.levels[0].t[0] / 1000)), size = 4000, top = Math.round(900e6 / 4096);
        server.span = { scale: 4096, t: [from, ...Array(size).fill(10)], low: [25000, ...Array(size).fill(0)], high: [0, ...Array(size).fill(0).map((_, i) => (i % 2 ? top : 0))] };
        const address = await server.start();
        const page = await open(browser, address, { allowed: address });
        await page.waitForSelector(".picture svg .range");
        const whole = await page.$eval(".picture svg .range", (e) => e.getAttribute("d").length);
        await page.focus(".picture .plot");
        for (let i = 0; i < 3; i++) await page.keyboard.press("+");
        await page.waitForTimeout(800);
        const asked = server.asked.filter((a) => a.startsWith("span.json"));
        expect(asked.length === 1 && new RegExp(`series=${curve.id}&from=[\\d.]+&to=[\\d.]+&points=\\d+`).test(asked[0]), "it asks once, when the view rests", asked);
        await until(page, (before) => document.querySelector(".picture svg .range").getAttribute("d").length > before, whole);
        silent(page, "span");
        await server.stop();
    },

    async comparison_shows_both(browser) {
        const page = await open(browser, file("comparison"));
        expect((await page.$$(".pair .picture")).length === 2, "two pictures");
        expect((await page.$$eval(".pair .badge", (b) => b.map((e) => e.textContent))).every((t) => /LEAK|INCONCLUSIVE/.test(t)), "two verdicts");
        expect((await page.$$(".pair .floor")).length >= 2, "two floors");
        const scales = await page.$$eval(".pair .picture", (all) => all.map((p) => [...p.querySelectorAll(".axes text[text-anchor=end]:not(.unit)")].map((t) => t.textContent).join()));
        expect(scales[0] === scales[1], "on one scale", scales);
        await sane(page, "comparison");
    },

    async nobody_is_left_out(browser) {
        let looked = 0;
        for (const name of ["traced-loop", "leak", "calm", "workers", "comparison", "one-sample", "markup"])
            for (const scheme of ["light", "dark"]) {
                const page = await open(browser, file(name), { scheme });
                // Long tables take axe minutes; one page shows what they are made of.
                if (name === "traced-loop") await openAll(page);
                else await page.evaluate(() => { for (const d of document.querySelectorAll("details:not(.data)")) d.open = true; });
                const bad = await violations(page);
                expect(bad.length === 0, name, scheme, bad.join("\n"));
                await page.context().close();
                looked++;
            }
        return `${looked} pages, no violation found by axe-core`;
    },

    async labels_in_charts_have_contrast(browser) {
        for (const name of ["leak", "spikes", "fills", "workers"])
            for (const scheme of ["light", "dark"]) {
                const page = await open(browser, file(name), { scheme });
                const least = await page.evaluate(LEAST_CONTRAST);
                expect(least[0] >= 4.5, name, scheme, least);
                await page.context().close();
            }
    },

    async it_fits_every_window(browser) {
        for (const name of ["leak", "traced-loop", "many", "markup", "comparison", "nothing"])
            for (const [width, height] of [[360, 740], [768, 1024], [1280, 900], [3840, 2160]]) {
                const page = await open(browser, file(name), { width, height, touch: width < 500 });
                const bad = await unreadable(page);
                expect(bad.length === 0, name, width, bad);
                await page.context().close();
            }
    },

    async nothing_jumps(browser) {
        const page = await open(browser, file("leak"));
        const jumped = await page.evaluate(() => new Promise((done) => {
            let sum = 0;
            new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value; }).observe({ type: "layout-shift", buffered: true });
            setTimeout(() => done(sum), 300);
        }));
        expect(jumped < 0.01, "layout shift", jumped);
        const before = await page.$eval(".series", (e) => e.getBoundingClientRect().top);
        await page.mouse.move(600, 400);
        await settled(page);
        expect((await page.$eval(".series", (e) => e.getBoundingClientRect().top)) === before, "hover moves nothing");
    },

    async theme_is_switched_and_kept(browser) {
        const page = await open(browser, file("calm"), { scheme: "dark" });
        const shade = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const dark = await shade();
        await page.click(".theme");
        const light = await shade();
        expect(dark !== light && light === "rgb(255, 255, 255)", dark, light);
        await page.reload();
        await page.waitForSelector(".theme");
        expect((await shade()) === light, "it is kept");
        await page.click(".theme");
        expect((await shade()) === dark, "dark by choice");
    },

    async it_prints_on_a4(browser) {
        for (const name of ["leak", "many"]) {
            const page = await open(browser, file(name), { scheme: "dark" });
            await page.emulateMedia({ media: "print" });
            expect((await page.evaluate(() => getComputedStyle(document.body).backgroundColor)) === "rgb(255, 255, 255)", "paper is white");
            expect((await page.$$eval(".theme, .tools", (all) => all.every((e) => getComputedStyle(e).display === "none"))), "no buttons on paper");
            const pdf = (await page.pdf({ format: "A4", printBackground: true })).toString("latin1");
            const count = (pdf.match(/\/Type \/Page\b/g) ?? []).length;
            expect(count >= 1 && count <= 30, name, count, "sheets");
            silent(page, "print");
            await page.context().close();
        }
    },
};

/* Of all labels in charts, the least contrast to what the page has behind its middle. */
const LEAST_CONTRAST = `(() => {
    const parts = (c) => c.match(/[\\d.]+/g).map(Number);
    const over = (top, alpha, under) => top.map((v, i) => v * alpha + under[i] * (1 - alpha));
    const light = (c) => { const l = c.map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * l[0] + .7152 * l[1] + .0722 * l[2]; };
    const ground = parts(getComputedStyle(document.body).backgroundColor).slice(0, 3);
    let least = [100, ""];
    for (const t of document.querySelectorAll(".plot text")) {
        const box = t.getBoundingClientRect();
        if (!t.textContent || !box.width) continue;
        const outside = t.closest(".axes");
        const x = box.x + box.width / 2, y = box.y + box.height / 2;
        let under = ground;
        const style = getComputedStyle(t), outlined = style.stroke !== "none" && parseFloat(style.strokeWidth) > 0;
        if (!outlined && !outside) for (const e of t.ownerSVGElement.querySelectorAll("rect.phase, rect.future, path.area")) {
            const b = e.getBoundingClientRect(), s = getComputedStyle(e);
            const point = new DOMPoint(x, y).matrixTransform(e.getScreenCTM().inverse());
            if (b.x > x || b.right < x || b.y > y || b.bottom < y || !e.isPointInFill(point)) continue;
            under = over(parts(s.fill).slice(0, 3), Number(s.fillOpacity), under);
        }
        const a = light(parts(style.fill).slice(0, 3)), b = light(under);
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (ratio < least[0]) least = [ratio, t.textContent];
    }
    return least;
})()`;

const ASKED = ["a_running_job_is_shown", "the_server_shows_the_same"]; // they need more than the folder
if (wanted === "--list") console.log(Object.keys(cases).filter((c) => !ASKED.includes(c)).join("\n"));
else {
    const browser = await launch();
    try {
        const note = await cases[wanted](browser);
        if (note) console.log(note);
    } catch (error) {
        console.log(error.stack.slice(0, 3000));
        process.exitCode = 1;
    } finally {
        await browser.close();
    }
}
