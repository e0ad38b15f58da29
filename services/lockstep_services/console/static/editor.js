// The SiddhiQL editor: CodeMirror as NiceGUI brings it, with colours, problems, completion and hover.
// What it knows of the language the server tells: the text goes there, the answer comes back by number.
import * as CM from "nicegui-codemirror";

const KEYWORDS = new Set(("define stream table from partition window select group by order asc desc limit offset " +
  "having insert delete update set return events into output expired current snapshot for of as or and in on is " +
  "not within with begin end null every last all first join inner outer right left full unidirectional false true " +
  "function trigger at aggregation aggregate per").split(" "));
const TYPES = new Set("string int long float double bool object".split(" "));
const PIECE = /(--[^\n]*|\/\*[^]*?(?:\*\/|$))|("""[^]*?(?:"""|$)|'[^'\n]*'?|"[^"\n]*"?)|(@[A-Za-z_:]+)|(\b\d[\d.]*(?:[eE][-+]?\d+)?[lLfFdD]?\b)|([A-Za-z_]\w*)/g;

function colour(match, text) {
  if (match[1]) return "t-comment";
  if (match[2]) return "t-string";
  if (match[3]) return "t-annotation";
  if (match[4]) return "t-number";
  const word = match[5].toLowerCase();
  if (/\b(stream|table|window|trigger|aggregation|into)\s+$/i.test(text.slice(Math.max(0, match.index - 16), match.index))) return null;
  if (TYPES.has(word)) return "t-type";
  if (/^\s*\(/.test(text.slice(PIECE.lastIndex, PIECE.lastIndex + 8)) && !["in", "with", "and", "or", "not", "on"].includes(word)) return "t-function";
  return KEYWORDS.has(word) ? "t-keyword" : null;
}

function colours(view) {
  const text = view.state.doc.toString();
  const found = [];
  PIECE.lastIndex = 0;
  for (let match; (match = PIECE.exec(text)); ) {
    const name = colour(match, text);
    if (name) found.push(CM.Decoration.mark({ class: name }).range(match.index, match.index + match[0].length));
  }
  return CM.Decoration.set(found);
}

const colouring = CM.ViewPlugin.fromClass(
  class {
    constructor(view) { this.decorations = colours(view); }
    update(update) { if (update.docChanged) this.decorations = colours(update.view); }
  },
  { decorations: (plugin) => plugin.decorations },
);

const setProblems = CM.StateEffect.define();
const problemField = CM.StateField.define({
  create: () => ({ marks: CM.Decoration.none, list: [] }),
  update(value, change) {
    let next = { marks: value.marks.map(change.changes), list: value.list };
    for (const effect of change.effects) if (effect.is(setProblems)) next = effect.value;
    return next;
  },
  provide: (field) => CM.EditorView.decorations.from(field, (value) => value.marks),
});

const counted = (text) => Array.from(text).length;
// Columns count characters; the editor's places count an emoji as two.
const place = (line, column) => line.from + Array.from(line.text).slice(0, Math.max(0, column - 1)).join("").length;
const span = (doc, problem) => {
  const line = doc.line(Math.min(problem.line, doc.lines));
  const from = place(line, problem.column);
  const to = place(line, problem.end_column);
  return from < to ? [from, to] : [Math.max(line.from, from - 1), line.to];
};

function tip(text, kind) {
  const dom = document.createElement("div");
  dom.className = `cm-tip mono ${kind}`;
  dom.textContent = text;
  return { dom };
}

export default {
  template: "<div></div>",
  props: { value: String, label: String, draft: String, own: String, starter: String },
  methods: {
    text() {
      return this.view.state.doc.toString();
    },
    // `wanted`: it takes the place of this text alone.
    setText(text, wanted) {
      const old = this.view.state.doc.toString();
      if (old === text || old !== (wanted ?? old)) return;
      this.view.dispatch({ changes: { from: 0, to: old.length, insert: text } });
    },
    setProblems(problems) {
      const doc = this.view.state.doc;
      const marks = [];
      for (const problem of problems) {
        const [from, to] = span(doc, problem);
        if (from < to) marks.push(CM.Decoration.mark({ class: "t-problem" }).range(from, to));
      }
      this.view.dispatch({ effects: setProblems.of({ marks: CM.Decoration.set(marks, true), list: problems }) });
    },
    goTo(line, column) {
      const at = this.view.state.doc.line(Math.min(line, this.view.state.doc.lines));
      const anchor = place(at, column);
      this.view.dispatch({ selection: { anchor }, effects: CM.EditorView.scrollIntoView(anchor, { y: "center" }) });
      this.view.focus();
    },
    answered(number, answer) {
      this.waiting.get(number)?.(answer);
      this.waiting.delete(number);
    },
    ask(what, offset) {
      const text = this.view.state.doc.toString();
      const number = ++this.number;
      return new Promise((resolve) => {
        this.waiting.set(number, resolve);
        setTimeout(() => this.answered(number, null), 5000);
        this.$emit("ask", { number, what, text, offset: counted(text.slice(0, offset)) });
      });
    },
    async completions(context) {
      const before = context.matchBefore(/[\w@#.:]*/);
      if (!context.explicit && (!before || before.from === before.to)) return null;
      const items = await this.ask("complete", context.pos);
      if (!items || !items.length || context.aborted) return null;
      const word = context.matchBefore(/\w*/);
      return { from: word ? word.from : context.pos, validFor: /^\w*$/, options: items.map((item) => ({
        label: item.label, detail: item.detail, type: item.kind, apply: item.insert, boost: item.boost,
        info: item.about ? () => tip(item.about, "").dom : undefined })) };
    },
    async hover(view, pos) {
      const problem = view.state.field(problemField).list.find((each) => {
        const [from, to] = span(view.state.doc, each);
        return from <= pos && pos <= to;
      });
      if (problem) return { pos, above: true, create: () => tip(problem.message + (problem.hint ? `\n${problem.hint}` : ""), "bad") };
      const found = await this.ask("hover", pos);
      return found ? { pos, above: true, create: () => tip(found, "") } : null;
    },
    keep(text) {
      try {
        localStorage.setItem(this.draft, text);
        if (this.own && text !== this.given) localStorage.setItem(this.own, text);
        else this.forget();
      } catch {} // the browser has no room for it: the text is still in the editor
    },
    forget() {
      if (this.own) localStorage.removeItem(this.own);
    },
    changed() {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        const text = this.view.state.doc.toString();
        this.keep(text);
        this.$emit("change", text);
      }, 150);
    },
  },
  mounted() {
    this.waiting = new Map();
    this.number = 0;
    const source = (context) => this.completions(context);
    this.given = (this.value || "").replace(/\r\n?/g, "\n"); // as CodeMirror gives it back
    const own = this.own ? localStorage.getItem(this.own) : null;
    const kept = this.value ? own : localStorage.getItem(this.draft);
    this.view = new CM.EditorView({
      doc: kept || this.value || this.starter || "",
      parent: this.$el,
      extensions: [
        CM.basicSetup,
        CM.keymap.of([CM.indentWithTab, { key: "Shift-Alt-f", run: () => (this.$emit("format"), true) }]),
        CM.EditorState.languageData.of(() => [{ autocomplete: source, commentTokens: { line: "--" } }]),
        colouring, problemField, CM.EditorView.lineWrapping,
        CM.hoverTooltip((view, pos) => this.hover(view, pos)),
        CM.EditorView.contentAttributes.of({ "aria-label": this.label || "Text of the app" }),
        CM.EditorView.updateListener.of((update) => { if (update.docChanged) this.changed(); }),
      ],
    });
    this.$el.lockstepEditor = this;
    this.$emit("change", this.view.state.doc.toString());
    if (own && own !== this.given) this.$emit("begun");
  },
  beforeUnmount() { this.view.destroy(); },
};
