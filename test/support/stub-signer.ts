import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import process from "node:process";
import { base58 } from "@scure/base";

/**
 * A signer of the fee payer: `stub-signer.ts SOCKET TOKEN`, the key's seed in hex as SIGNER_SEED.
 * `POST /mode` sets how it answers. Prints each message that it signed as a line of base64.
 */

const [socket = "", token = ""] = process.argv.slice(2);
const seed = Buffer.from(process.env["SIGNER_SEED"] ?? "", "hex");
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");
const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
const publicKey = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);

let mode = "sign";

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString("utf8");
    const answer = (status: number, value: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    if (request.url === "/mode") {
      mode = body;
      return answer(200, {});
    }
    if (request.headers.authorization !== `Bearer ${token}`) return answer(401, {});
    if (request.url === "/public-key") return answer(200, { public_key: base58.encode(publicKey) });
    const message = Buffer.from(JSON.parse(body).message, "base64");
    if (mode === "hang") return undefined;
    if (mode === "refuse" || !isOurs(message)) return answer(403, { error: "not a payment" });
    if (mode === "long") return answer(200, { signature: "A".repeat(100_000) });
    if (mode === "odd") return answer(200, { sig: 1 });
    process.stdout.write(`${message.toString("base64")}\n`);
    const signed = mode === "wrong" ? Buffer.alloc(8) : message;
    return answer(200, { signature: sign(null, signed, key).toString("base64") });
  });
}).listen(socket, () => process.stdout.write("ready\n"));
process.on("SIGTERM", () => {
  rmSync(socket, { force: true });
  process.exit(0);
});

/** Whether the message has two signers, of which this key is the first. Version 0 has a byte before. */
function isOurs(message: Buffer): boolean {
  const header = message[0] === 0x80 ? message.subarray(1) : message;
  return header[0] === 2 && header.subarray(4, 36).equals(publicKey);
}
