/* report/flame.js: zoom, search, tool-tips and keys of a flame graph. It only reads what stands in
 * the picture, as text; names come from traced programs and are never parsed. */
(function () {
    "use strict";
    const SVG = "http://www.w3.org/2000/svg";
    const svg = document.currentScript ? document.currentScript.ownerSVGElement : document.documentElement;
    const chart = svg.querySelector(".chart");
    const total = Number(chart.dataset.bytes), side = Number(chart.dataset.side);
    const row = Number(chart.dataset.row), column = Number(chart.dataset.column);
    const drawn = Number(chart.dataset.width), drawnTop = Number(chart.dataset.top);
    const least = 340, line = 19;
    const tip = svg.querySelector(".tip"), reset = svg.querySelector(".reset");
    const found = svg.querySelector(".found"), field = svg.querySelector("input");
    let width = 0, height = 0, moved = 0, zoomed = null, focused = null;

    /* ---- frames, each after its caller ---- */

    const callers = [];
    const frames = Array.from(chart.querySelectorAll(".frame"), function (g, index) {
        const rect = g.querySelector("rect"), title = g.querySelector("title");
        const lines = title.textContent.split("\n");
        const level = Number(g.dataset.level);
        const frame = {
            g: g, rect: rect, text: g.querySelector("text"), level: level, index: index,
            from: (Number(rect.getAttribute("x")) - side) / drawn,
            share: Number(rect.getAttribute("width")) / drawn,
            top: Number(rect.getAttribute("y")),
            lines: lines, sought: (lines[0] + "\n" + lines[1]).toLowerCase(),
            caller: level > 0 ? callers[level - 1] : null, callees: [], seen: true
        };
        callers[level] = frame;
        if (frame.caller)
            frame.caller.callees.push(frame);
        g.setAttribute("aria-label", title.textContent);
        g.setAttribute("tabindex", level === 0 ? "0" : "-1");
        g.removeChild(title);
        return frame;
    });
    const whole = frames[0];
    const frameOf = new Map(frames.map(function (f) { return [f.g, f]; }));

    function at(event) {
        return frameOf.get(event.target.closest ? event.target.closest(".frame") : null);
    }

    /* ---- layout ---- */

    /* What fits of a text; characters beyond the Latin, Greek and Cyrillic ones take two columns. */
    function cut(text, columns) {
        let used = 0, out = "";
        for (const c of text) {
            used += c.codePointAt(0) > 0x10ff ? 2 : 1;
            if (used > columns)
                return out.slice(0, -1) + "\u2026";
            out += c;
        }
        return out;
    }

    /* The file of a function is the first that goes. */
    function label(name, columns) {
        const place = name.lastIndexOf(" (");
        const fits = cut(name, columns) === name;
        return fits || place < 1 ? cut(name, columns) : cut(name.slice(0, place), columns);
    }

    function put(frame, x, w) {
        const columns = Math.floor((w - 6) / column);
        frame.rect.setAttribute("x", x.toFixed(2));
        frame.rect.setAttribute("width", Math.max(w - 0.5, 0.3).toFixed(2));
        if (columns < 3) {
            if (frame.text)
                frame.text.textContent = "";
            return;
        }
        if (!frame.text) {
            frame.text = frame.g.appendChild(document.createElementNS(SVG, "text"));
            frame.text.setAttribute("y", frame.top + row - 6);
        }
        frame.text.setAttribute("x", (x + 4).toFixed(2));
        frame.text.textContent = label(frame.lines[0], columns);
    }

    function isCallerOf(frame, callee) {
        for (let f = callee.caller; f; f = f.caller)
            if (f === frame)
                return true;
        return false;
    }

    function layout() {
        const room = width - 2 * side, from = zoomed.from, share = zoomed.share || 1;
        let inside = false;
        for (const f of frames) {
            if (f.level <= zoomed.level)
                inside = f === zoomed;
            const past = !inside && isCallerOf(f, zoomed);
            const w = past ? room : f.share / share * room;
            f.seen = past || (inside && w >= 0.3);
            f.g.classList.toggle("gone", !f.seen);
            f.g.classList.toggle("past", past);
            if (f.seen)
                put(f, past ? side : side + (f.from - from) / share * room, w);
        }
        reset.classList.toggle("gone", zoomed === whole);
    }

    /* ---- the head, in as many lines as it needs ---- */

    /* With room for a tool-tip of the last row. */
    const below = Number(svg.getAttribute("height")) - drawnTop + 90;
    const flows = Array.from(svg.querySelectorAll(".flow"), function (text) {
        const lines = Array.from(text.children, function (t) { return t.textContent; });
        return { text: text, words: lines.join(" ").split(" ") };
    });

    /* A word that fills more than a line comes in pieces. */
    function pieces(word, room) {
        const most = Math.floor(room / 10), all = Array.from(word), out = [];
        for (let i = 0; i < all.length; i += most)
            out.push(all.slice(i, i + most).join(""));
        return out;
    }

    function flow(one, room, top) {
        let span = null;
        one.text.replaceChildren();
        for (const word of one.words.flatMap(function (w) { return pieces(w, room); })) {
            const before = span ? span.textContent : "";
            if (span)
                span.textContent = before + " " + word;
            if (span && span.getComputedTextLength() <= room)
                continue;
            if (span) {
                span.textContent = before;
                top += line;
            }
            span = one.text.appendChild(document.createElementNS(SVG, "tspan"));
            span.setAttribute("x", side);
            span.setAttribute("y", top);
            span.textContent = word;
        }
        return top + line;
    }

    function placeKeys(room, top) {
        let x = side;
        for (const key of svg.querySelectorAll(".key")) {
            const w = key.getBBox().width;
            if (x > side && x + w > side + room) {
                x = side;
                top += line;
            }
            key.setAttribute("transform", "translate(" + x + " " + top + ")");
            x += w + 22;
        }
        return top + line;
    }

    function placeSearch(room, top) {
        const w = Math.min(300, Math.max(120, room * 0.4));
        svg.querySelector(".search").setAttribute("transform", "translate(0 " + top + ")");
        svg.querySelector("foreignObject").setAttribute("width", w);
        found.setAttribute("x", side + w + 12);
        reset.setAttribute("x", side + room);
        return top + 32;
    }

    function placeHead() {
        const room = width - 2 * side;
        let top = 30;
        flows.forEach(function (one, i) {
            top = flow(one, room, top) + (i === 0 ? 4 : 0);
        });
        top = placeSearch(room, placeKeys(room, top + 6));
        moved = top - drawnTop;
        height = top + below;
        chart.setAttribute("transform", "translate(0 " + moved + ")");
    }

    function resize() {
        width = Math.max(least, svg.parentElement ? svg.parentElement.clientWidth : window.innerWidth);
        placeHead();
        svg.setAttribute("width", width);
        svg.setAttribute("height", height);
        svg.setAttribute("viewBox", "0 0 " + width + " " + height);
        layout();
    }

    function zoom(frame) {
        zoomed = frame;
        hideTip();
        layout();
    }

    /* ---- tool-tips ---- */

    function fold(text) {
        const parts = [], most = Math.max(20, Math.min(100, Math.floor((width - 24) / column)));
        for (let rest = Array.from(text); rest.length && parts.length < 6; rest = rest.slice(most))
            parts.push(rest.slice(0, most).join(""));
        return parts;
    }

    function showTip(frame, x, y) {
        const lines = frame.lines.flatMap(fold), text = tip.querySelector("text");
        const w = Math.max.apply(null, lines.map(function (l) { return Array.from(l).length; })) * column + 16;
        const h = lines.length * 17 + 10;
        const left = Math.max(2, Math.min(x + 12, width - w - 2));
        const top = y + 18 + h < height ? y + 18 : Math.max(2, y - h - 8);
        text.replaceChildren();
        lines.forEach(function (line, i) {
            const span = text.appendChild(document.createElementNS(SVG, "tspan"));
            span.setAttribute("x", left + 8);
            span.setAttribute("y", top + 18 + 17 * i);
            span.textContent = line;
        });
        const box = tip.querySelector("rect");
        box.setAttribute("x", left);
        box.setAttribute("y", top);
        box.setAttribute("width", w);
        box.setAttribute("height", h);
        tip.classList.remove("gone");
    }

    function hideTip() {
        tip.classList.add("gone");
    }

    /* ---- search ---- */

    function bytes(n) {
        const names = ["B", "KB", "MB", "GB", "TB"];
        let i = 0;
        for (; n >= 1000 && i < 4; i++)
            n /= 1024;
        return (i === 0 ? String(Math.round(n)) : n.toPrecision(3)) + " " + names[i];
    }

    function search() {
        const wanted = field.value.trim().toLowerCase();
        let share = 0, count = 0, until = -1;
        for (const f of frames) {
            const hit = wanted !== "" && f !== whole && f.sought.includes(wanted);
            f.g.classList.toggle("hit", hit);
            count += hit ? 1 : 0;
            if (hit && f.from >= until - 1e-7) {
                share += f.share;
                until = f.from + f.share;
            }
        }
        found.textContent = wanted === "" ? "" : count + (count === 1 ? " frame" : " frames") +
            ": " + bytes(share * total) + ", " + (share * 100).toFixed(1) + " %";
    }

    /* ---- keys ---- */

    function focus(frame) {
        if (!frame || !frame.seen)
            return;
        focused = frame;
        frame.g.focus();
        showTip(frame, Number(frame.rect.getAttribute("x")), frame.top + moved + row);
    }

    /* The next one of the same caller that is seen. */
    function beside(frame, step) {
        const all = frame.caller ? frame.caller.callees.filter(function (f) { return f.seen; }) : [];
        return all[all.indexOf(frame) + step];
    }

    const moves = {
        ArrowUp: function (f) { focus(f.caller); },
        ArrowDown: function (f) { focus(f.callees.find(function (c) { return c.seen; })); },
        ArrowLeft: function (f) { focus(beside(f, -1)); },
        ArrowRight: function (f) { focus(beside(f, 1)); },
        Enter: function (f) { zoom(f); focus(f); },
        " ": function (f) { zoom(f); focus(f); }
    };

    function leave() {
        field.value = "";
        search();
        zoom(whole);
        focus(focused || whole);
        hideTip();
    }

    document.addEventListener("keydown", function (event) {
        const typing = event.target === field;
        if ((event.key === "/" && !typing) || (event.key === "f" && (event.ctrlKey || event.metaKey))) {
            field.focus();
            field.select();
        } else if (event.key === "Escape") {
            leave();
        } else if (!typing && moves[event.key]) {
            moves[event.key](frameOf.get(document.activeElement) || focused || whole);
        } else {
            return;
        }
        event.preventDefault();
    });

    chart.addEventListener("click", function (event) {
        const frame = at(event);
        if (frame) {
            focused = frame;
            zoom(frame);
        }
    });
    chart.addEventListener("mousemove", function (event) {
        const frame = at(event), box = svg.getBoundingClientRect();
        if (frame)
            showTip(frame, event.clientX - box.left, event.clientY - box.top);
        else
            hideTip();
    });
    chart.addEventListener("mouseleave", hideTip);
    reset.addEventListener("click", function () { zoom(whole); });
    field.addEventListener("input", search);
    window.addEventListener("resize", resize);

    svg.querySelector(".search").classList.remove("gone");
    for (const key of svg.querySelectorAll(".key.gone"))
        key.classList.remove("gone");
    zoomed = whole;
    resize();
})();
