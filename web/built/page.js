/* A stand-in: it prints the opening. */
"use strict";
const data = document.getElementById("data");
const page = document.getElementById("page");
function show(text) {
  const line = document.createElement("p");
  line.textContent = text;
  page.append(line);
}
function draw(run) {
  const lines = [].concat(run.opening || []);
  for (const opening of lines) {
    show(opening.verdict);
    show("why: " + (opening.why || ""));
    show((opening.next_label || "next") + ": " + (opening.next || ""));
  }
}
if (data) draw(JSON.parse(data.textContent));
else fetch("data.json").then((answer) => answer.json()).then(draw);
