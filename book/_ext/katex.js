// Typesets formulas for maths.py: one JSON request per line comes in, one JSON answer per line goes out.
// When the build ends, however it ends, its end of the pipe closes, and so does this.
const katex = require(process.argv[2]);
const lines = require("readline").createInterface({ input: process.stdin });

lines.on("line", (line) => {
  const { latex, options } = JSON.parse(line);
  let answer;
  try {
    answer = { html: katex.renderToString(latex, options) };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
