/* What the cases know of the pages in the folder that they are given. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, silent } from "./browser.mjs";

export const [folder, wanted] = process.argv.slice(2);
export const file = (name) => "file://" + join(folder, name + ".html");
export const data = (name) => JSON.parse(readFileSync(join(folder, name + ".json"), "utf8"));
export const pages = (wanted === "--list" ? [] : readdirSync(folder))
    .filter((n) => n.endsWith(".html"))
    .map((n) => n.slice(0, -5));

export const text = (page, selector) => page.$eval(selector, (e) => e.textContent);

/* What no view may show, however little is known. */
const NONSENSE = /\bNaN\b|undefined|\[object|Infinity/;

export async function sane(page, name) {
    silent(page, name);
    expect(!(await page.evaluate(() => "hacked" in window)), name, "ran a script of the run");
    expect(
        (await page.$$("#page img, #page script, #page iframe, #page svg[onload], #page [onerror]"))
            .length === 0,
        name,
        "has foreign elements",
    );
    const shown = await page.$eval("#page", (e) => e.innerText);
    expect(
        !NONSENSE.test(shown),
        name,
        "shows",
        shown.match(NONSENSE)?.[0],
        shown.slice(Math.max(0, shown.search(NONSENSE) - 100), shown.search(NONSENSE) + 100),
    );
    const paths = await page.$$eval("#page svg [d], #page svg [x], #page svg [cx]", (all) =>
        all
            .map((e) =>
                ["d", "x", "y", "cx", "cy", "width", "height"]
                    .map((n) => e.getAttribute(n) ?? "")
                    .join(" "),
            )
            .filter((d) => /NaN|Infinity|undefined/.test(d)),
    );
    expect(paths.length === 0, name, "draws", paths.slice(0, 2));
}
