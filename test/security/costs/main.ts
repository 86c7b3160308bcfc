// What a stranger's requests cost a running gateway, for the table in docs/explanation/security.md:
//   npm start
//   node_modules/.bin/node test/security/costs/main.ts http://127.0.0.1:8080 127.0.0.1:9090 PID
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { endOf, framed, questionOf, rawCall } from "../../transport/grpc/raw-call.ts";

const [baseUrl = "", grpcAddress = "", pid = ""] = process.argv.slice(2);
const { hostname, port } = new URL(baseUrl);
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
/** 1 MiB of an unknown field. */
const UNKNOWN = Buffer.alloc(1 << 20, Buffer.from([0x78, 0]));
const BROTLI =
  "/toolgate.v1.HealthService/GetHealth?connect=v1&encoding=proto&base64=1&compression=br&message=W___j38KAC8uCwNw7x8C";

/** Returns the status or the error of a response, and its time, ms. */
function send(
  path: string,
  options: http.RequestOptions = {},
  body?: Buffer,
): Promise<[status: string, ms: number]> {
  const started = performance.now();
  return new Promise((resolve) => {
    const end = (status: string) => resolve([status, performance.now() - started]);
    const request = http.request({ hostname, port, path, agent: false, ...options }, (answer) => {
      answer.resume().on("end", () => end(String(answer.statusCode)));
    });
    request.on("error", (error) => end(error.message)).end(body);
  });
}

/** CPU time of the gateway, ms: clock ticks of 10 ms (proc(5)). */
function cpuMs(): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function residentMb(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Runs the work while another client polls the health check. */
async function measure(what: string, work: () => Promise<unknown>): Promise<void> {
  const before = { cpu: cpuMs(), memory: residentMb() };
  let worst = 0;
  let most = before.memory;
  const over = new AbortController();
  const other = (async () => {
    while (!over.signal.aborted) {
      worst = Math.max(worst, (await send("/health"))[1]);
      most = Math.max(most, residentMb());
      await sleep(10);
    }
  })();
  const note = await work();
  await send("/health");
  over.abort();
  await other;
  const figures = { cpu_ms: cpuMs() - before.cpu, slowest_health_ms: Math.round(worst) };
  const memory = {
    grown_mb: Math.round(most - before.memory),
    kept_mb: Math.round(residentMb() - before.memory),
  };
  process.stdout.write(`${JSON.stringify({ what, ...figures, ...memory, note })}\n`);
}

async function times(count: number, work: () => Promise<[string, number]>): Promise<string> {
  const statuses = new Set<string>();
  for (let done = 0; done < count; done++) statuses.add((await work())[0]);
  return [...statuses].join(", ");
}

/** Opens streams that send one compressed message and never end. */
async function heldStreams(count: number): Promise<string> {
  const message = gzipSync(UNKNOWN);
  const frame = Buffer.concat([Buffer.from([1, 0, 0, 0, 0]), message]);
  frame.writeUInt32BE(message.length, 1);
  const session = http2.connect(`http://${grpcAddress}`).on("error", () => {});
  let ended = 0;
  for (let opened = 0; opened < count; opened++) {
    const stream = session.request({
      ...{ ":method": "POST", ":path": "/grpc.health.v1.Health/Check", te: "trailers" },
      ...{ "content-type": "application/grpc", "grpc-encoding": "gzip" },
    });
    stream.on("error", () => {}).on("close", () => ended++);
    stream.resume().write(frame);
  }
  await sleep(4_000);
  await send("/health");
  session.destroy();
  return `${count * frame.length} bytes, ${ended} of ${count} ended by the gateway`;
}

/** Opens connections that request a document repeatedly and read nothing. */
async function unreadAnswers(connections: number, requests: number): Promise<void> {
  const text = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(requests);
  const sockets = Array.from({ length: connections }, () => {
    const socket = net.connect(Number(port), hostname);
    socket.on("error", () => {}).on("connect", () => socket.write(text));
    return socket.pause();
  });
  await sleep(1_000);
  await send("/health");
  for (const socket of sockets) socket.destroy();
}

/** Opens connections whose reflection streams ask as often as they may and read nothing. */
async function unreadReflection(connections: number, streams: number, questions: number): Promise<void> {
  const text = Buffer.concat(Array.from({ length: questions }, () => questionOf("toolgate.v1.ToolService")));
  const sessions = Array.from({ length: connections }, () => {
    const session = http2.connect(`http://${grpcAddress}`, { settings: { initialWindowSize: 0 } });
    for (let opened = 0; opened < streams; opened++) rawCall(session, REFLECTION).end(text);
    return session.on("error", () => {});
  });
  await sleep(5_000);
  await send("/health");
  for (const session of sessions) session.destroy();
}

/** Sends the start of a large and of a small message. @returns when the gateway ended the calls, s */
async function unfinishedMessages(): Promise<string> {
  const started = performance.now();
  const session = http2.connect(`http://${grpcAddress}`).on("error", () => {});
  const ended = ["Check", "List"].flatMap((method) =>
    [1 << 20, 1 << 10].map(async (bytes) => {
      const stream = rawCall(session, `/grpc.health.v1.Health/${method}`);
      stream.write(framed(Buffer.alloc(bytes)).subarray(0, bytes - 100));
      const { status } = await endOf(stream);
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      return `${method} of ${bytes} bytes: status ${status} after ${seconds} s`;
    }),
  );
  const ends = await Promise.all(ended);
  session.destroy();
  return ends.join(", ");
}

const post = {
  method: "POST",
  headers: { "content-type": "application/proto", "connect-protocol-version": "1" },
};
await measure("200 x GET /health", () => times(200, () => send("/health")));
await measure("7 x 15 bytes of brotli in a GET", () => times(7, () => send(BROTLI)));
await measure("7 x 1 MiB of unknown fields", () =>
  times(7, () => send("/toolgate.v1.HealthService/GetHealth", post, UNKNOWN.subarray(16))),
);
await measure("48 held gRPC calls, gzip", () => heldStreams(48));
await measure("300 connections x 32 unread /openapi.json", () => unreadAnswers(300, 32));
await measure("16 connections x 32 unread reflection streams", () => unreadReflection(16, 32, 256));
await measure("unfinished gRPC messages", unfinishedMessages);
process.exit();
