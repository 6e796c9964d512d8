/* theme.ts: light, dark, or as the system says. */

import { h } from "./dom";

type Theme = "auto" | "light" | "dark";
const NAMES: readonly Theme[] = ["auto", "light", "dark"];
const KEY = "tidemark-theme";

function stored(): Theme {
    try {
        const found = localStorage.getItem(KEY);
        return NAMES.find((n) => n === found) ?? "auto";
    } catch {
        return "auto"; // pages on disk may have no storage
    }
}

export function themeSwitch(): HTMLElement {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    let chosen = stored();
    const button = h("button.theme", {
        type: "button",
        "data-key": "theme",
        click: () => {
            chosen = NAMES[(NAMES.indexOf(chosen) + 1) % NAMES.length] as Theme;
            try {
                localStorage.setItem(KEY, chosen);
            } catch {
                /* it holds for this visit */
            }
            apply();
        },
    });
    function apply(): void {
        document.documentElement.dataset["theme"] =
            chosen === "auto" ? (dark.matches ? "dark" : "light") : chosen;
        button.textContent =
            chosen === "auto"
                ? "Theme: system"
                : chosen === "light"
                  ? "Theme: light"
                  : "Theme: dark";
    }
    dark.addEventListener("change", apply);
    apply();
    return button;
}
