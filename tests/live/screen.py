"""A terminal's screen, as far as tidemark and training programs use it."""

import codecs


class Screen:
    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.reset()

    def reset(self):
        self.cells = [[" "] * self.columns for _ in range(self.rows)]
        self.gone = []  # lines that have scrolled off the top
        self.row = self.column = 0
        self.region = (0, self.rows - 1)
        self.saved = (0, 0)
        self.state, self.sequence = "text", ""

    def resize(self, rows, columns):
        """Keeps the bottom of the screen, as xterm does; the region becomes the whole of it."""
        cells = [(line + [" "] * columns)[:columns] for line in self.cells]
        while len(cells) > rows:
            self.gone.append("".join(cells.pop(0)).rstrip())
            self.row = max(0, self.row - 1)
        cells += [[" "] * columns for _ in range(rows - len(cells))]
        self.cells, self.rows, self.columns = cells, rows, columns
        self.region = (0, rows - 1)
        self.column = min(self.column, columns - 1)

    def lines(self):
        return ["".join(line).rstrip() for line in self.cells]

    def everything(self):
        return self.gone + self.lines()

    def feed(self, data):
        for c in self.decoder.decode(data):
            getattr(self, "in_" + self.state)(c)

    # ---- states ----

    def in_text(self, c):
        if c == "\x1b":
            self.state = "escape"
        elif c == "\n":
            self.line_feed()
        elif c == "\r":
            self.column = 0
        elif c == "\b":
            self.column = max(0, self.column - 1)
        elif c == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)
        elif c >= " ":
            self.put(c)

    def in_escape(self, c):
        self.state = "text"
        if c == "[":
            self.state, self.sequence = "control", ""
        elif c == "]":
            self.state, self.sequence = "string", ""
        elif c == "7":
            self.saved = (self.row, self.column)
        elif c == "8":
            self.row, self.column = self.saved
        elif c == "D":
            self.line_feed()
        elif c == "c":
            self.reset()

    def in_string(self, c):
        self.sequence += c
        if c == "\a" or self.sequence.endswith("\x1b\\"):
            self.state = "text"

    def in_control(self, c):
        if not "@" <= c <= "~":
            self.sequence += c
            return
        self.state = "text"
        if self.sequence[:1] in ("?", "!", ">"):
            return
        numbers = [int(n) if n else 0 for n in self.sequence.split(";")]
        function = getattr(self, "control_" + c, None)
        if function and c not in "ms":
            function(*numbers)

    # ---- what they do ----

    def put(self, c):
        if self.column >= self.columns:
            self.column = 0
            self.line_feed()
        self.cells[self.row][self.column] = c
        self.column += 1

    def line_feed(self):
        top, bottom = self.region
        if self.row == bottom:
            line = self.cells.pop(top)
            if top == 0:
                self.gone.append("".join(line).rstrip())
            self.cells.insert(bottom, [" "] * self.columns)
        elif self.row < self.rows - 1:
            self.row += 1

    def control_A(self, n=1):
        self.row = max(0, self.row - max(1, n))

    def control_B(self, n=1):
        self.row = min(self.rows - 1, self.row + max(1, n))

    def control_C(self, n=1):
        self.column = min(self.columns - 1, self.column + max(1, n))

    def control_D(self, n=1):
        self.column = max(0, self.column - max(1, n))

    def control_G(self, n=1):
        self.column = min(self.columns, max(1, n)) - 1

    def control_H(self, row=1, column=1):
        self.row = min(self.rows, max(1, row)) - 1
        self.column = min(self.columns, max(1, column)) - 1

    def control_J(self, n=0, *_):
        if n == 0:
            self.control_K(0)
        for i in range(self.row + 1 if n == 0 else 0, self.rows if n != 1 else self.row):
            self.cells[i] = [" "] * self.columns

    def control_K(self, n=0):
        first = 0 if n else self.column
        last = self.column + 1 if n == 1 else self.columns
        for i in range(first, min(last, self.columns)):
            self.cells[self.row][i] = " "

    def control_r(self, top=1, bottom=0):
        self.region = (max(1, top) - 1, (bottom or self.rows) - 1)
        self.row = self.column = 0
