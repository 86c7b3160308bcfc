import process from "node:process";
import { listen } from "./listen.ts";

// The least that any JSON service on Node does: node:http, JSON.parse of the request, JSON.stringify of the
// answer. node test/bench/peers/http.ts <status> <answer as JSON>

const status = Number(process.argv[2]);
const answer: unknown = JSON.parse(process.argv[3] ?? "{}");

listen((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const call: unknown = JSON.parse(Buffer.concat(chunks).toString());
    const body = JSON.stringify(typeof call === "object" ? answer : undefined);
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    });
    response.end(body);
  });
});
