/** nginx, Caddy and Varnish with the examples of deploy/, on ports of a test. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Agent, fetch as undiciFetch } from "undici";
import { freePorts } from "../chaos/service.ts";
import { ROOT } from "./command.ts";
import { untilServed } from "./eventually.ts";

const run = promisify(execFile);
const DEPLOY = join(ROOT, "deploy");

/** How a test reaches a service: by plain HTTP, or by TLS with a certificate of its own. */
export interface Way {
  url: string;
  fetch: typeof globalThis.fetch;
}

export interface RunningProxy {
  child: ChildProcess;
  way: Way;
  /** The URL without TLS, if it differs. */
  plainUrl?: string;
}

/** nginx with the example of deploy/, in front of instances (host and port), with further `locations`. */
export async function startNginx(
  folder: string,
  port: number,
  instances: readonly string[],
  locations = "",
): Promise<RunningProxy> {
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  if (!existsSync(key)) {
    const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
    const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
    await run("openssl", ["req", "-x509", ...kind, ...subject, "-keyout", key, "-out", certificate]);
  }
  const [plain = 0] = await freePorts(1);
  const example = await readFile(join(DEPLOY, "nginx.conf"), "utf8");
  const site = example
    .replaceAll(/listen \[::\].*;/g, "")
    .replace("listen 80;", `listen 127.0.0.1:${plain};`)
    .replace("listen 443 ssl http2;", `listen 127.0.0.1:${port} ssl http2;`)
    .replace(/(?<=ssl_certificate ).*(?=;)/, certificate)
    .replace(/(?<=ssl_certificate_key ).*(?=;)/, key)
    .replace(/.*server 127\.0\.0\.1:8080.*/, (line) => eachIn(line, instances))
    .replace("    location / {", `${locations}    location / {`);
  const child = await runNginx(folder, site);
  const dispatcher = new Agent({ allowH2: true, connect: { ca: await readFile(certificate) } });
  const overTls = (input: unknown, init?: object) => undiciFetch(input as string, { ...init, dispatcher });
  const way = { url: `https://127.0.0.1:${port}`, fetch: overTls as unknown as typeof fetch };
  return { child, way, plainUrl: `http://127.0.0.1:${plain}` };
}

/** nginx with the cache of deploy/ for logs, in front of an instance (host and port). */
export async function startNginxCache(folder: string, port: number, instance: string): Promise<RunningProxy> {
  const example = await readFile(join(DEPLOY, "nginx-cache.conf"), "utf8");
  const locations = [
    `location = /healthz { proxy_pass http://${instance}; }`, // `listens` asks for it
    "location = /status { stub_status; }",
  ];
  const site = example
    .replaceAll(/listen \[::\].*;/g, "")
    .replace("listen 80;", `listen 127.0.0.1:${port};`)
    .replace("/var/cache/nginx/livechat-relay", join(folder, "cache"))
    .replace("127.0.0.1:8080", instance)
    .replace(/(?= {4}location \/v1)/, `${locations.join(" ")}\n`);
  const child = await runNginx(folder, site);
  return { child, way: { url: `http://127.0.0.1:${port}`, fetch } };
}

/** The requests that nginx with a cache has not answered yet. */
export async function unanswered({ way }: RunningProxy): Promise<number> {
  const status = await (await way.fetch(`${way.url}/status`)).text();
  return Number(/Writing: (\d+)/.exec(status)?.[1]) - 1; // this one is written, too
}

/** Varnish with the cache of deploy/ for logs, in front of an instance (host and port). */
export async function startVarnishCache(
  folder: string,
  port: number,
  instance: string,
): Promise<RunningProxy> {
  const example = await readFile(join(DEPLOY, "varnish-cache.vcl"), "utf8");
  const [, options = ""] = /varnishd -a :80 -f \S+ (.*)/.exec(example) ?? [];
  const site = example
    .replace('"8080"', `"${new URL(`http://${instance}`).port}"`)
    .replace('req.url !~ "^/v1/log/"', 'req.url != "/healthz" && $&'); // `listens` asks for it
  return await startVarnish(folder, port, site, options.split(" "));
}

/** Varnish with these rules. */
export async function startVarnish(
  folder: string,
  port: number,
  rules: string,
  options: readonly string[] = [],
): Promise<RunningProxy> {
  const file = join(folder, "rules.vcl");
  await writeFile(file, rules);
  const own = ["-F", "-j", "none", "-n", join(folder, "varnish"), "-a", `127.0.0.1:${port}`, "-f", file];
  const child = spawn("varnishd", [...own, ...options], { stdio: "ignore" });
  return { child, way: { url: `http://127.0.0.1:${port}`, fetch } };
}

/** Runs nginx with this content of its `http`, and everything that it writes below the folder. */
async function runNginx(folder: string, http: string): Promise<ChildProcess> {
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const temp = paths.map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
  const events = "events { worker_connections 20000; }";
  const user = process.getuid?.() === 0 ? "user root;" : ""; // the folder is its own
  const main = `${user} daemon off; pid ${folder}/pid; error_log stderr error; ${events} http { access_log off; ${temp} ${http} }`;
  await writeFile(join(folder, "nginx.conf"), main);
  return spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf")], { stdio: "ignore" });
}

/** The line of an example that names its instance, once for each. */
function eachIn(line: string, instances: readonly string[]): string {
  return instances.map((instance) => line.replace("127.0.0.1:8080", instance)).join("\n");
}

/** Caddy with a file of deploy/, with further directives of its site. */
export async function startCaddy(
  file: string,
  folder: string,
  port: number,
  upstreams: NodeJS.ProcessEnv,
  directives = "",
): Promise<RunningProxy> {
  const example = await readFile(join(DEPLOY, file), "utf8");
  const lean = example
    .replace("{\n", "{\n\tadmin off\n")
    .replace("grace_period 5s", "grace_period 200ms")
    .replace("\treverse_proxy ", `${directives}\treverse_proxy `);
  await writeFile(join(folder, file), lean);
  const url = `http://127.0.0.1:${port}`;
  const child = spawn("caddy", ["run", "--adapter", "caddyfile", "--config", join(folder, file)], {
    stdio: "ignore",
    env: { PATH: process.env.PATH, HOME: folder, RELAY_SITE: url, ...upstreams },
  });
  return { child, way: { url, fetch } };
}

/** Resolves once the service answers on this way. */
export function listens({ url, fetch }: Way): Promise<void> {
  return untilServed(`${url}/healthz`, fetch);
}
