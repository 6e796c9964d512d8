/* table.ts: tables, and the table behind each chart. */

import { add, h, prose, replace, type Child } from "./dom";

/* A column's name; `#` before it says that its cells are numbers. */
export type Column = string;

const isNumber = (column: Column | undefined) => column?.startsWith("#") ?? false;

const AT_FIRST = 200;

function rowOf(columns: readonly Column[], cells: readonly Child[]): HTMLElement {
    return h(
        "tr",
        {},
        cells.map((cell, i) =>
            h(
                i === 0 ? "th" : "td",
                { scope: i === 0 ? "row" : null, class: isNumber(columns[i]) ? "number" : null },
                cell,
            ),
        ),
    );
}

/* A long table shows its first rows, and the others on request. */
export function table(
    caption: string,
    columns: readonly Column[],
    rows: readonly (readonly Child[])[],
): HTMLElement {
    const body = h(
        "tbody",
        {},
        rows.slice(0, AT_FIRST).map((r) => rowOf(columns, r)),
    );
    const element = h(
        "div.scroll",
        { tabindex: 0, role: "region", "aria-label": caption + ", table" },
        h(
            "table",
            {},
            h("caption.visually-hidden", {}, caption),
            h(
                "thead",
                {},
                h(
                    "tr",
                    {},
                    columns.map((c) =>
                        h(
                            "th",
                            { scope: "col", class: isNumber(c) ? "number" : null },
                            c.replace(/^#/, ""),
                        ),
                    ),
                ),
            ),
            body,
        ),
    );
    if (rows.length <= AT_FIRST) return element;
    const more = h(
        "button.plain",
        {
            type: "button",
            click: () => {
                add(
                    body,
                    rows.slice(AT_FIRST).map((r) => rowOf(columns, r)),
                );
                more.remove();
            },
        },
        `Show all ${rows.length.toLocaleString("en-US")} rows`,
    );
    return h("div", {}, element, more);
}

/* Built when it is opened first, and again when its data has changed. */
export function dataTable(
    key: string,
    build: () => HTMLElement,
    title = "Data table",
): HTMLDetailsElement {
    const place = h("div");
    const element: HTMLDetailsElement = h(
        "details.data",
        {
            "data-key": key,
            toggle: () => {
                if (element.open && !place.firstChild) replace(place, build());
            },
        },
        h("summary", {}, title),
        place,
    );
    return element;
}

/* Replaces what is in an element; what was open stays open, and the focus stays where it was. */
export function rebuild(element: Element, ...children: Child[]): void {
    const open = new Set(
        [...element.querySelectorAll<HTMLDetailsElement>("details[data-key]")]
            .filter((d) => d.open)
            .map((d) => d.dataset["key"]),
    );
    const focused = element.contains(document.activeElement)
        ? document.activeElement?.closest<HTMLElement>("[data-key]")
        : null;
    const inSummary =
        document.activeElement instanceof HTMLElement &&
        document.activeElement.tagName === "SUMMARY";
    const key = focused?.dataset["key"];
    replace(element, ...children);
    for (const details of element.querySelectorAll<HTMLDetailsElement>("details[data-key]"))
        if (open.has(details.dataset["key"])) details.open = true;
    if (key === undefined) return;
    const again = [...element.querySelectorAll<HTMLElement>("[data-key]")].find(
        (e) => e.dataset["key"] === key,
    );
    (inSummary ? again?.querySelector<HTMLElement>("summary") : again)?.focus();
}

/* Buttons of which one is chosen. */
export function choice<T extends string>(
    label: string,
    options: readonly (readonly [T, string])[],
    chosen: () => T,
    choose: (value: T) => void,
): { element: HTMLElement; update: () => void } {
    const buttons = options.map(([value, text]) =>
        h(
            "button",
            {
                type: "button",
                "data-key": `${label}-${value}`,
                click: () => {
                    choose(value);
                    update();
                },
            },
            text,
        ),
    );
    function update(): void {
        buttons.forEach((b, i) =>
            b.setAttribute("aria-pressed", String(options[i]?.[0] === chosen())),
        );
    }
    update();
    return { element: h("div.choice", { role: "group", "aria-label": label }, buttons), update };
}

/* Names and values; what is not known is left out. */
export function facts(rows: readonly (readonly [string, Child | undefined])[]): HTMLElement {
    const known = rows.filter(([, v]) => v !== undefined && v !== null && v !== "");
    return h(
        "dl.facts",
        {},
        known.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    );
}

/* Sentences of a report. */
export function notes(
    texts: readonly string[] | undefined,
    kind: "ul.notes" | "ul" = "ul.notes",
): HTMLElement | null {
    return texts?.length
        ? h(
              kind,
              {},
              texts.map((t) => h("li", {}, prose(t))),
          )
        : null;
}
