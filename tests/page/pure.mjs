/* Cases that need no browser: modules of web/src by themselves. */
import { expect, sources } from "./browser.mjs";

export const cases = {
    async units_are_those_of_the_reports() {
        const { bytes, count, duration, percent } = await sources("units"),
            MB = 1048576;
        const same = [
            [bytes(512), "512 B"],
            [bytes(16384), "16.0 KB"],
            [bytes(2.3 * MB), "2.30 MB"],
            [bytes(9566 * MB), "9.34 GB"],
            [bytes(1023.6), "1.00 KB"],
            [bytes(1023.7 * MB), "1.00 GB"],
            [bytes(1000 * MB), "1000 MB"],
            [bytes(9.996 * MB), "10.0 MB"],
            [bytes(99.96 * MB), "100 MB"],
            [bytes(0), "0 B"],
            [bytes(0.25), "0.25 B"],
            [bytes(1.5), "1.5 B"],
            [bytes(1000), "1000 B"],
            [bytes(-4.2 * MB), "-4.20 MB"],
            [bytes(NaN), "?"],
            [count(1234567), "1,234,567"],
            [count(NaN), "?"],
            [duration(0), "0 s"],
            [duration(0.0012), "1.2 ms"],
            [duration(89), "89 s"],
            [duration(90), "1.5 min"],
            [duration(7200), "2 h"],
            [duration(Infinity), "?"],
            [percent(0.345), "35 %"],
            [percent(0.0123), "1.2 %"],
        ];
        for (const [got, wanted] of same) expect(got === wanted, got, "is not", wanted);
    },

    /* Whatever level is drawn, nothing of the curve is above or below it. */
    async levels_hold_all_samples() {
        const { Pyramid, decode } = await sources("pyramid");
        const size = 50000,
            t = new Float64Array(size),
            v = new Float64Array(size);
        for (let i = 0, seed = 7; i < size; i++)
            (seed = (seed * 48271) % 2147483647),
                (t[i] = i * 0.01),
                (v[i] = (seed % 1000) + (i === 31234 ? 1e6 : 0));
        const pyramid = Pyramid.ofSamples(t, v);
        for (const [from, to] of [
            [0, 500],
            [100, 400],
            [312, 313],
            [312.33, 312.35],
            [499, 900],
            [-5, 0.01],
        ])
            for (const wanted of [1, 50, 1000]) {
                const got = pyramid.pick(from, to, wanted),
                    inside = [...v].filter((_, i) => t[i] >= from && t[i] <= to);
                expect(
                    Math.max(...got.high) >= Math.max(...inside) &&
                        Math.min(...got.low) <= Math.min(...inside),
                    from,
                    to,
                    wanted,
                );
                expect(
                    got.t.length >= Math.min(wanted, inside.length),
                    "enough blocks",
                    from,
                    to,
                    wanted,
                    got.t.length,
                );
                expect(
                    got.t.length <= 5 * wanted + inside.length / 1000 + 70,
                    "not too many",
                    from,
                    to,
                    wanted,
                    got.t.length,
                );
            }
        const blocks = decode({
            scale: 4096,
            t: [100, 5, 5],
            low: [10, -2, 0],
            high: [0, 3, 1],
        });
        expect(
            JSON.stringify([[...blocks.t], [...blocks.low], [...blocks.high]]) ===
                JSON.stringify([
                    [0.1, 0.105, 0.11],
                    [40960, 32768, 32768],
                    [40960, 45056, 36864],
                ]),
            [...blocks.low],
            [...blocks.high],
        );
    },

    async steps_and_seconds_map_both_ways() {
        const { Clock } = await sources("clock");
        const clock = new Clock({
            page: "run",
            steps: { seconds: [1, 2, 2, 4, 3, 8], step: [10, 20, 25, 60, 61, 100] },
        });
        for (const at of [1, 1.5, 2, 3.3, 4, 7, 8])
            expect(Math.abs(clock.seconds("step", clock.position("step", at)) - at) < 1e-9, at);
        expect(clock.position("step", 16) > 150, "steps go on beyond the end");
        expect(
            clock.position("s", 3.3) === 3.3 &&
                !new Clock({ page: "run", steps: { seconds: [1], step: [1] } }).hasSteps,
            "seconds stay",
        );
    },
};
