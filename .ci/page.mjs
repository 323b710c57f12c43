// Opens pages in headless Chromium, 1280, 800 and 400 pixels wide, light and dark, and
// holds them to what a reader needs: nothing overflows, no text is clipped or too pale,
// every link within the page leads somewhere, and nothing is asked for from outside.
//
//   node .ci/page.mjs [--shots DIR] FILE.html...
//   node .ci/page.mjs --broken FILE.html    breaks the page in every way it looks for, and
//                                           fails where it does not notice one
//
// It speaks the DevTools protocol over a pipe: no port is opened, no package needed.
import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const args = process.argv.slice(2);
let shots = "";
if (args[0] === "--shots") [, shots] = args.splice(0, 2);
const broken = args[0] === "--broken" && args.shift();
if (args.length === 0) {
  console.error("usage: node .ci/page.mjs [--shots DIR | --broken] FILE.html...");
  process.exit(2);
}

const profile = mkdtempSync(path.join(tmpdir(), "page-"));
const browser = spawn(process.env.CHROMIUM || "chromium", [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank",
], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
browser.on("error", (e) => { console.error(`chromium cannot be started: ${e.message}`); process.exit(2); });

let next = 0, pending = new Map(), listeners = [], held = Buffer.alloc(0);
browser.stdio[4].on("data", (chunk) => {
  held = Buffer.concat([held, chunk]);
  for (let end; (end = held.indexOf(0)) >= 0; held = held.subarray(end + 1)) {
    const m = JSON.parse(held.subarray(0, end).toString());
    if (m.id) {
      const { resolve, reject } = pending.get(m.id);
      pending.delete(m.id);
      m.error ? reject(new Error(m.error.message)) : resolve(m.result);
    } else for (const l of listeners) l(m);
  }
});
const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
  pending.set(++next, { resolve, reject });
  browser.stdio[3].write(JSON.stringify({ id: next, method, params, sessionId }) + "\0");
});

// inspect runs within the page and returns what is wrong with it.
function inspect(width) {
  const bad = [], say = (what, el) => bad.push(`${what}: ${el ? (el.id ? "#" + el.id : el.tagName) + " " + (el.textContent || "").trim().slice(0, 60) : ""}`);
  const seen = (el) => el.getClientRects().length > 0 && getComputedStyle(el).visibility !== "hidden";
  for (const d of document.querySelectorAll("details")) d.open = true;
  if (document.documentElement.scrollWidth > width) {
    say(`the page is ${document.documentElement.scrollWidth} pixels wide, the window ${width}`);
    for (const el of document.querySelectorAll("main *")) if (el.getBoundingClientRect().right > width + 0.5 && !el.parentElement.closest(".scroll, pre")) say("too wide", el);
  }
  for (const el of document.querySelectorAll("body *")) {
    const s = getComputedStyle(el);
    if (!el.ownerSVGElement && el.tagName !== "svg" && el.scrollWidth > el.clientWidth + 1 && el.clientWidth > 0 && s.display !== "inline") {
      if (s.overflowX === "hidden") say("text is clipped", el);
      if (s.overflowX === "auto" && el.tabIndex < 0) say("a scrolling region that the keyboard does not reach", el);
    }
  }
  for (const el of document.querySelectorAll(".scroll *")) {
    const a = el.getBoundingClientRect(), b = el.closest(".scroll").getBoundingClientRect();
    if (a.height > 0 && (a.top < b.top - 2 || a.bottom > b.bottom + 2)) say("text is clipped", el);
  }
  for (const t of document.querySelectorAll("svg text")) {
    const a = t.getBoundingClientRect(), b = t.ownerSVGElement.getBoundingClientRect();
    if (a.width > 0 && (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 2 || a.bottom > b.bottom + 2)) say("text leaves its figure", t);
  }
  const labels = [...document.querySelectorAll("svg text.label")].map((t) => [t, t.getBoundingClientRect()]);
  labels.forEach(([t, a], i) => labels.slice(i + 1).forEach(([, b]) => {
    if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4) say("labels collide", t);
  }));
  const ids = [...document.querySelectorAll("[id]")].map((el) => el.id);
  for (const id of ids) if (document.querySelectorAll(`[id="${id}"]`).length > 1) say(`id ${id} occurs twice`);
  for (const a of document.querySelectorAll("a")) {
    const to = a.getAttribute("href") || "";
    if (!to.startsWith("#") || !document.getElementById(to.slice(1))) say(`a link that leads nowhere (${to})`, a);
  }
  for (const el of document.querySelectorAll("script, img, iframe, object, embed, link, form")) say("an element that has no place here", el);

  // Contrast by WCAG 2: 4.5 to 1 for text, 3 to 1 for large text.
  const light = (c) => { const [r, g, b] = c.map((v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const rgb = (s) => (s.match(/[\d.]+/g) || []).map(Number);
  const ground = (el) => { for (; el; el = el.parentElement) { const c = rgb(getComputedStyle(el).backgroundColor); if (c.length === 3 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
  const told = new Set();
  for (const el of document.querySelectorAll("body *")) {
    if (![...el.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !seen(el) || el.closest("title, desc")) continue;
    const s = getComputedStyle(el), fg = rgb(el.ownerSVGElement ? s.fill : s.color), bg = ground(el);
    const [a, b] = [light(fg.slice(0, 3)), light(bg)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    const large = parseFloat(s.fontSize) >= 24, key = `${fg}/${bg}`;
    if (ratio < (large ? 3 : 4.5) && !told.has(key)) { told.add(key); say(`contrast ${ratio.toFixed(2)} of ${fg} on ${bg}`, el); }
  }
  return bad;
}

async function open(file, width, scheme) {
  const bad = [];
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const url = pathToFileURL(path.resolve(file)).href;
  let loaded;
  const load = new Promise((resolve) => { loaded = resolve; });
  const listen = (m) => {
    if (m.sessionId !== sessionId) return;
    const p = m.params;
    if (m.method === "Page.loadEventFired") loaded();
    if (m.method === "Network.requestWillBeSent" && p.request.url !== url) bad.push(`asks for ${p.request.url}`);
    if (m.method === "Log.entryAdded") bad.push(`log: ${p.entry.text}`);
    if (m.method === "Runtime.consoleAPICalled" || m.method === "Runtime.exceptionThrown") bad.push(`console: ${JSON.stringify(p).slice(0, 200)}`);
  };
  listeners.push(listen);
  const call = (method, params) => send(method, params, sessionId);
  for (const domain of ["Page", "Network", "Log", "Runtime"]) await call(`${domain}.enable`);
  await call("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 });
  await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  await call("Page.navigate", { url });
  await load;
  if (shots) await shoot(call, file, width, scheme);
  const { result, exceptionDetails } = await call("Runtime.evaluate", { expression: `(${inspect})(${width})`, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception.description);
  bad.push(...result.value);
  listeners = listeners.filter((l) => l !== listen);
  await send("Target.closeTarget", { targetId });
  return bad;
}

async function shoot(call, file, width, scheme) {
  mkdirSync(shots, { recursive: true });
  const { cssContentSize } = await call("Page.getLayoutMetrics");
  const name = `${path.basename(path.dirname(path.resolve(file)))}-${path.basename(file, ".html")}-${width}-${scheme}`;
  const tall = 1400; // more than a screen, and still sharp when looked at
  for (let i = 0; i * tall < Math.min(cssContentSize.height, 12 * tall); i++) {
    const clip = { x: 0, y: i * tall, width, height: Math.min(tall, cssContentSize.height - i * tall), scale: 1 };
    const { data } = await call("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip });
    writeFileSync(path.join(shots, `${name}-${i + 1}.png`), Buffer.from(data, "base64"));
  }
}

// ways to break a page: what is put before the end of its first section, or what
// replaces what, and what must then be said.
const breaks = [
  [`<p><span>${"a".repeat(20)}</span></p><table><tr><td>${"<b>wide</b>&nbsp;".repeat(400)}</td></tr></table>`, /the page is \d+ pixels wide/],
  [`<a href="#nowhere">x</a>`, /leads nowhere/],
  [`<a href="http://127.0.0.1:9/">x</a>`, /leads nowhere/],
  [`<script>1</script>`, /no place here/],
  [`<img src="http://127.0.0.1:9/x.png" alt="">`, /log: |asks for/],
  [`<p id="main">twice</p>`, /occurs twice/],
  [`<svg width="50" height="20"><text x="10" y="15">leaves its figure</text></svg>`, /leaves its figure/],
  [`<svg width="200" height="40"><text class="label" x="9" y="20">one</text><text class="label" x="12" y="22">two</text></svg>`, /labels collide/],
  [(html) => html.replace("--fg:#1b1e23", "--fg:#b9b9b9"), /contrast/],
  [(html) => html.replaceAll('tabindex="0"', ""), /keyboard does not reach/, 400],
];

// unbound makes a page's own style valid again after it was changed.
const unbound = (html) => html.replace(/style-src (?:'|&#39;)sha256-.*?(?:'|&#39;)/, "style-src 'unsafe-inline'");

async function breakIt(file) {
  const html = readFileSync(file, "utf8"), at = html.indexOf("</section>");
  let missed = 0;
  for (const [how, want, width = 1280] of breaks) {
    const to = path.join(profile, "broken.html");
    writeFileSync(to, typeof how === "string" ? html.slice(0, at) + how + html.slice(at) : unbound(how(html)));
    const bad = await open(to, width, "light");
    if (!bad.some((b) => want.test(b))) { missed++; console.log(`not noticed: ${how} (wanted ${want}); said: ${bad.slice(0, 3)}`); }
  }
  console.log(`${breaks.length} breaks, ${missed} not noticed`);
  return missed;
}

let wrong = 0, looks = 0;
const timer = setTimeout(() => { console.error("chromium does not answer"); browser.kill("SIGKILL"); process.exit(2); }, 240_000);
try {
  if (broken) wrong = await breakIt(args[0]);
  else for (const file of args) for (const width of [1280, 800, 400]) for (const scheme of ["light", "dark"]) {
    const bad = await open(file, width, scheme);
    looks++;
    for (const b of bad.slice(0, 20)) console.log(`${file} at ${width}, ${scheme}: ${b}`);
    wrong += bad.length;
  }
  if (!broken) console.log(`${looks} looks at ${args.length} pages, ${wrong} things wrong`);
} catch (e) {
  console.error(e);
  wrong++;
} finally {
  clearTimeout(timer);
  const gone = new Promise((resolve) => { browser.exitCode === null && browser.signalCode === null ? browser.once("exit", resolve) : resolve(); });
  send("Browser.close").catch(() => {});
  setTimeout(() => browser.kill("SIGKILL"), 5000).unref();
  await gone;
  // Its helpers may write for a moment after it has gone.
  try { rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }); } catch (e) { console.error(`left behind: ${profile}`); }
  process.exit(wrong ? 1 : 0);
}
