/* live.ts: the data of a page that a server keeps up to date. */

import type { Curve, Document } from "./document";
import { decode, type Blocks } from "./pyramid";
import type { Span } from "./view";

const LEAST_WAIT = 2000;
const SPAN_WAIT = 200;

export type State = "connecting" | "connected" | "lost" | "ended";

/* Fetches the document, and again on every change, at most every two seconds. */
export class Live {
    private last = 0;
    private timer: number | undefined;
    private spanTimer: number | undefined;
    private spanAsked = "";
    private busy = false;
    private again = false;

    constructor(
        private readonly onData: (data: Document) => void,
        private readonly onState: (state: State, why?: string) => void,
    ) {}

    async start(): Promise<void> {
        this.onState("connecting");
        await this.fetch();
        const source = new EventSource("events");
        source.addEventListener("open", () => {
            this.onState("connected");
            this.changed();
        });
        source.addEventListener("change", () => this.changed());
        source.addEventListener("end", () => {
            source.close();
            this.changed();
            this.onState("ended");
        });
        source.addEventListener("error", () => this.onState("lost"));
    }

    private changed(): void {
        if (this.timer !== undefined) return;
        this.timer = window.setTimeout(
            () => {
                this.timer = undefined;
                void this.fetch();
            },
            Math.max(0, this.last + LEAST_WAIT - performance.now()),
        );
    }

    private async fetch(): Promise<void> {
        if (this.busy) {
            this.again = true;
            return;
        }
        this.busy = true;
        try {
            const answer = await fetch("data.json", { headers: { Accept: "application/json" } });
            if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
            this.onData((await answer.json()) as Document);
        } catch (error) {
            this.onState("lost", error instanceof Error ? error.message : "");
        } finally {
            this.last = performance.now();
            this.busy = false;
            if (this.again) {
                this.again = false;
                this.changed();
            }
        }
    }

    /* Asks for a part in finer detail, once the view rests. */
    askSpan(
        curve: Curve,
        span: Span,
        pixels: number,
        ret: (id: number, blocks: Blocks) => void,
    ): void {
        const address = `span.json?series=${curve.id}&from=${span[0].toFixed(3)}&to=${span[1].toFixed(3)}&points=${Math.round(pixels)}`;
        if (address === this.spanAsked) return;
        window.clearTimeout(this.spanTimer);
        this.spanTimer = window.setTimeout(async () => {
            this.spanAsked = address;
            try {
                const answer = await fetch(address);
                if (!answer.ok) return;
                const blocks = decode(await answer.json());
                if (this.spanAsked === address && blocks.t.length > 1) ret(curve.id, blocks);
            } catch {
                /* the page stays with what it has */
            }
        }, SPAN_WAIT);
    }
}
