/* build.mjs [--out FOLDER] [--check]: bundles src/ into built/page.js and built/page.css.
 * With --check nothing is written: it fails if what is there is not what the source makes. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "built");
const banner =
    "/*! tidemark, the page. MIT License. Built from web/src by web/build.mjs; do not edit. */";

const result = await build({
    absWorkingDir: here,
    entryPoints: { page: "src/main.ts", style: "src/page.css" },
    bundle: true,
    minify: !process.env.PLAIN,
    charset: "ascii",
    format: "iife",
    target: ["es2021", "chrome100", "firefox100", "safari15"],
    legalComments: "inline",
    banner: { js: banner, css: banner },
    outdir: out,
    write: false,
    logLevel: "warning",
});

const names = { "page.js": "page.js", "style.css": "page.css" };
let different = false;
await mkdir(out, { recursive: true });
for (const file of result.outputFiles) {
    const name = names[file.path.slice(out.length + 1)];
    const place = join(out, name);
    if (!process.argv.includes("--check")) await writeFile(place, file.contents);
    else if (
        !Buffer.from(file.contents).equals(await readFile(place).catch(() => Buffer.alloc(0)))
    ) {
        console.error(`web/built/${name} is not what web/src makes. Run: make page`);
        different = true;
    }
}
process.exit(different ? 1 : 0);
