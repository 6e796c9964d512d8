/* pictures.mjs PAGE.html,NAME,WIDTH,HEIGHT,SCHEME[,SELECTOR]...: screenshots as docs/pictures/NAME.png, with a
 * palette of 256 colors. A height of 0 is the whole page; with a selector, what it names stands on
 * top. Called by tools/page-pictures. */
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync, crc32 as zlibCrc } from "node:zlib";
import { chromium } from "playwright-core";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../docs/pictures");
const SCALE = 1.5,
    COLORS = 256;

function crc32(bytes) {
    if (zlibCrc) return zlibCrc(bytes);
    let crc = ~0;
    for (const b of bytes) {
        crc ^= b;
        for (let k = 0; k < 8; k++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    }
    return ~crc >>> 0;
}

function chunk(type, data) {
    const body = Buffer.concat([Buffer.from(type), data]),
        out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), body.length + 4);
    return out;
}

/* The most frequent colors, those nearly alike counted as one. */
function palette(pixels) {
    const counts = new Map();
    for (const p of pixels) counts.set(p, (counts.get(p) ?? 0) + 1);
    const chosen = [],
        near = (a, b) =>
            Math.abs((a >> 16) - (b >> 16)) +
            Math.abs(((a >> 8) & 255) - ((b >> 8) & 255)) +
            Math.abs((a & 255) - (b & 255));
    const ranked = [...counts].sort((a, b) => b[1] - a[1]).map(([p]) => p);
    for (const apart of [24, 12, 6, 0])
        for (const p of ranked) {
            if (chosen.length === COLORS) break;
            if (!chosen.includes(p) && chosen.every((c) => near(c, p) > apart)) chosen.push(p);
        }
    const index = new Map();
    for (const p of ranked) {
        let best = 0,
            least = Infinity;
        chosen.forEach((c, i) => {
            const d = near(c, p);
            if (d < least) (least = d), (best = i);
        });
        index.set(p, best);
    }
    return [chosen, index];
}

function encode(width, height, pixels) {
    const [colors, index] = palette(pixels),
        rows = Buffer.alloc((width + 1) * height);
    for (let y = 0, at = 0; y < height; y++) {
        rows[at++] = 0;
        for (let x = 0; x < width; x++) rows[at++] = index.get(pixels[y * width + x]);
    }
    const head = Buffer.alloc(13);
    head.writeUInt32BE(width, 0);
    head.writeUInt32BE(height, 4);
    head.set([8, 3, 0, 0, 0], 8);
    const table = Buffer.from(colors.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]));
    return Buffer.concat([
        Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
        chunk("IHDR", head),
        chunk("PLTE", table),
        chunk("IDAT", deflateSync(rows, { level: 9 })),
        chunk("IEND", Buffer.alloc(0)),
    ]);
}

const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const reader = await browser.newPage();
for (const job of process.argv.slice(2)) {
    const [file, name, width, height, scheme, selector] = job.split(",");
    const page = await browser.newPage({
        viewport: { width: +width, height: +height || 900 },
        colorScheme: scheme,
        deviceScaleFactor: +height ? SCALE : 1,
    });
    await page.goto("file://" + file);
    if (selector)
        await page.$eval(selector, (e) => {
            e.scrollIntoView({ block: "start", behavior: "instant" });
        });
    await page.waitForTimeout(300);
    const shot = (await page.screenshot({ fullPage: !+height })).toString("base64");
    await page.close();
    const [w, h, packed] = await reader.evaluate(async (data) => {
        const image = new Image();
        image.src = "data:image/png;base64," + data;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height),
            context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        const bytes = context.getImageData(0, 0, image.width, image.height).data;
        let text = "";
        for (let i = 0; i < bytes.length; i += 4)
            text += String.fromCharCode(bytes[i], bytes[i + 1], bytes[i + 2]);
        return [image.width, image.height, btoa(text)];
    }, shot);
    const rgb = Buffer.from(packed, "base64"),
        pixels = new Uint32Array(w * h);
    for (let i = 0; i < pixels.length; i++)
        pixels[i] = (rgb[3 * i] << 16) | (rgb[3 * i + 1] << 8) | rgb[3 * i + 2];
    const png = encode(w, h, pixels);
    await writeFile(join(folder, name + ".png"), png);
    console.log(`${name}.png ${w} x ${h}, ${Math.round(png.length / 1024)} KB`);
}
await browser.close();
