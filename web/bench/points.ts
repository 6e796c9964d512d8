/* points.ts: a million points straight into the chart code, and into uPlot, which draws on a canvas. */

import uPlot from "uplot";
import { Clock } from "../src/clock";
import { RangeLayer } from "../src/layers";
import { Plot } from "../src/plot";
import { Pyramid } from "../src/pyramid";
import { View } from "../src/view";

interface Times {
    first: number;
    zoom: number;
    pan: number;
}

const frame = () =>
    new Promise<number>((done) =>
        requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)),
    );

async function timed(act: () => void): Promise<number> {
    const start = performance.now();
    act();
    return (await frame()) - start;
}

function points(count: number): [Float64Array, Float64Array] {
    const t = new Float64Array(count),
        v = new Float64Array(count);
    for (let i = 0, seed = 1; i < count; i++) {
        seed = (seed * 48271) % 2147483647;
        t[i] = i * 0.1;
        v[i] = 1e9 + i * 300 + (seed / 2147483647) * 5e7 + (i % 50000 < 400 ? 4e8 : 0);
    }
    return [t, v];
}

function place(): HTMLElement {
    const element = document.createElement("div");
    element.style.width = "1200px";
    document.body.replaceChildren(element);
    return element;
}

async function ours(count: number): Promise<Times> {
    const [t, v] = points(count),
        at = place(),
        view = new View();
    view.clock = "s";
    let plot!: Plot;
    const first = await timed(() => {
        const pyramid = Pyramid.ofSamples(t, v);
        plot = new Plot(view, new Clock({ page: "run" }), {
            label: "bench",
            help: "",
            unit: () => "bytes",
            height: () => 400,
        });
        plot.layers = [new RangeLayer(pyramid, "bytes", () => plot.pixels, undefined)];
        plot.domain = pyramid.extent;
        at.append(plot.element);
        plot.draw();
    });
    const zoom = await timed(() => plot.zoom(0.2));
    return { first, zoom, pan: await timed(() => plot.pan(0.3)) };
}

async function others(count: number): Promise<Times> {
    const [t, v] = points(count),
        at = place();
    let plot!: uPlot;
    const first = await timed(() => {
        plot = new uPlot(
            {
                width: 1200,
                height: 400,
                scales: { x: { time: false } },
                series: [{}, { stroke: "#0072b2" }],
            },
            [t, v],
            at,
        );
    });
    const span = count * 0.1;
    const zoom = await timed(() => plot.setScale("x", { min: span * 0.4, max: span * 0.6 }));
    return {
        first,
        zoom,
        pan: await timed(() => plot.setScale("x", { min: span * 0.46, max: span * 0.66 })),
    };
}

Object.assign(window, { bench: { ours, others } });
