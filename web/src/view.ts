/* view.ts: what the reader chose to look at. It outlives every update of the document. */

import type { ClockName } from "./clock";

export type Span = readonly [number, number];

export class View {
    clock: ClockName = "step";
    /* In seconds; null: all of it. */
    span: Span | null = null;
    private readonly listeners = new Set<() => void>();

    subscribe(listener: () => void): void {
        this.listeners.add(listener);
    }

    setClock(clock: ClockName): void {
        this.clock = clock;
        this.changed();
    }

    setSpan(span: Span | null): void {
        this.span = span;
        this.changed();
    }

    private changed(): void {
        for (const listener of this.listeners) listener();
    }
}
