// Judges pages for tools/lighthouse.py: a port of a running Chromium, categories, form factor; then one address per line
// comes in, and one line of JSON with scores, figures and failed audits goes out.
import lighthouse, { desktopConfig } from "lighthouse";
import { createInterface } from "node:readline";

const [port, categories, form] = process.argv.slice(2);
const FIGURES = ["first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift"];

const failed = (report) => {
  const counted = Object.values(report.categories).flatMap((c) => c.auditRefs).filter((ref) => ref.weight > 0);
  const names = [...new Set(counted.map((ref) => ref.id))];
  return names.filter((id) => report.audits[id].score !== null && report.audits[id].score < 0.9);
};

for await (const address of createInterface({ input: process.stdin })) {
  const flags = { port: +port, output: "json", logLevel: "silent", disableFullPageScreenshot: true, onlyCategories: categories.split(",") };
  const { lhr } = await lighthouse(address, flags, form === "desktop" ? desktopConfig : undefined);
  const scores = Object.fromEntries(Object.entries(lhr.categories).map(([id, { score }]) => [id, Math.round(100 * score)]));
  const figures = Object.fromEntries(FIGURES.map((id) => [id, lhr.audits[id]?.numericValue]));
  const { benchmarkIndex, hostUserAgent } = lhr.environment; // how fast the machine was just then, and which browser
  const versions = { lighthouse: lhr.lighthouseVersion, browser: hostUserAgent.match(/Chrome\/[\d.]+/)?.[0], benchmarkIndex };
  const verdict = { scores, figures, versions, failed: failed(lhr), error: lhr.runtimeError?.message };
  process.stdout.write(JSON.stringify(verdict) + "\n");
}
