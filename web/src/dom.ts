/* dom.ts: elements. Text of a run goes through here as text nodes and attributes alone: nothing in
 * the page parses markup, and no attribute that could run a script can be set. */

export type Child = Node | string | number | null | undefined | false | readonly Child[];
type Value = string | number | boolean | null | undefined | ((event: never) => void);
export type Props = Readonly<Record<string, Value>>;

const SVG = "http://www.w3.org/2000/svg";
const FORBIDDEN = /^(on|style$|srcdoc$|src$|href$|xlink:|action$|formaction$)/i;

/* What could hide, turn around or end text: the reports print "?" for it as well. */
const UNSEEN =
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function clean(text: string): string {
    return text.replace(UNSEEN, "?");
}

function apply(element: Element, props: Props): void {
    for (const [name, value] of Object.entries(props)) {
        if (value === null || value === undefined || value === false) continue;
        if (typeof value === "function") {
            element.addEventListener(name, value as EventListener);
            continue;
        }
        if (FORBIDDEN.test(name)) throw new Error("attribute not allowed: " + name);
        element.setAttribute(name, value === true ? "" : clean(String(value)));
    }
}

export function add(parent: Node, ...children: readonly Child[]): void {
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        if (typeof child === "string" || typeof child === "number")
            parent.appendChild(document.createTextNode(clean(String(child))));
        else if (child instanceof Node) parent.appendChild(child);
        else add(parent, ...child);
    }
}

/* `name` may carry classes: "div.plot.wide". A property that is a function listens to that event. */
export function h<K extends keyof HTMLElementTagNameMap>(
    name: K | `${K}.${string}`,
    props: Props = {},
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    const [tag, ...classes] = name.split(".");
    const element = document.createElement(tag as string);
    if (classes.length) element.className = classes.join(" ");
    apply(element, props);
    add(element, ...children);
    return element as HTMLElementTagNameMap[K];
}

export function s<K extends keyof SVGElementTagNameMap>(
    name: K,
    props: Props = {},
    ...children: Child[]
): SVGElementTagNameMap[K] {
    const element = document.createElementNS(SVG, name);
    apply(element, props);
    add(element, ...children);
    return element;
}

export function replace(parent: Element, ...children: readonly Child[]): void {
    const fragment = document.createDocumentFragment();
    add(fragment, ...children);
    parent.replaceChildren(fragment);
}

/* A link to a place below or beside the page, never to another site or scheme. Null: it is neither. */
export function safeHref(text: unknown): string | null {
    if (typeof text !== "string" || /^[\s\u0000-\u001f]|^[a-z][a-z0-9+.-]*:|^[/\\]{2}/i.test(text))
        return null;
    try {
        const url = new URL(text, document.baseURI);
        return url.origin === new URL(document.baseURI).origin ? url.href : null;
    } catch {
        return null;
    }
}

export function link(href: unknown, ...children: Child[]): HTMLElement {
    const safe = safeHref(href);
    if (safe === null) return h("span", {}, ...children);
    const element = h("a", {}, ...children);
    element.href = safe;
    return element;
}

/* A passage in which `code` stands between backticks, as reports write it. */
export function prose(text: string): Child[] {
    return text
        .split("`")
        .map((piece, i, all) =>
            i % 2 === 1 && i < all.length - 1
                ? h("code", {}, piece)
                : i % 2 === 1
                  ? "`" + piece
                  : piece,
        );
}
