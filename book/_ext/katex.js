// Typesets formulas for maths.py: one JSON request per line comes in, one JSON answer per line goes out.
// When the build ends, however it ends, its end of the pipe closes, and so does this.
const katex = require(process.argv[2]);
const lines = require("readline").createInterface({ input: process.stdin });

// "No character metrics for ..." and the like are part of the answer.
let notes = [];
console.warn = (note) => notes.push(note);

lines.on("line", (line) => {
  const { latex, options } = JSON.parse(line);
  let answer;
  notes = [];
  try {
    answer = { html: katex.renderToString(latex, options) };
    if (notes.length) answer = { error: notes.join(" ") };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
