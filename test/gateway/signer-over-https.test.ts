import type { IncomingMessage } from "node:http";
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { base58 } from "@scure/base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openSponsor } from "../../src/gateway/relay.ts";
import { ExternalSigner } from "../../src/payments/gasless/index.ts";
import { selfSigned } from "../tools/custom/grpc/certificate.ts";
import { listen } from "../support/servers.ts";

/** An external signer of the fee payer behind TLS, with a certificate of an authority of its own. */

const folder = mkdtempSync(path.join(tmpdir(), "toolgate-signer-tls-"));
const { certificate, key } = selfSigned("localhost");
const { privateKey } = generateKeyPairSync("ed25519");
const publicKey = base58.encode(
  createPublicKey(createPrivateKey(privateKey.export({ format: "pem", type: "pkcs8" })))
    .export({ format: "der", type: "spki" })
    .subarray(-32),
);
const question = z.object({ message: z.base64() });
let server: Server;
let url: string;

describe("an external signer over HTTPS", () => {
  beforeAll(async () => {
    writeFileSync(path.join(folder, "signer.pem"), certificate);
    writeFileSync(path.join(folder, "other.pem"), selfSigned("localhost").certificate);
    const answerTo = async (request: IncomingMessage) => {
      if (request.url === "/fee-payer/public-key") return { public_key: publicKey };
      const { message } = question.parse(JSON.parse(await text(request)));
      return { signature: sign(null, Buffer.from(message, "base64"), privateKey).toString("base64") };
    };
    server = createServer({ key, cert: certificate }, (request, response) => {
      void answerTo(request).then((answer) => response.end(JSON.stringify(answer)));
    });
    url = `https://localhost:${await listen(server)}/fee-payer`;
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  const open = (ca?: string) =>
    openSponsor({
      MEMO_PREFIX: "svc",
      GASLESS_LOW_LAMPORTS: 0,
      TREASURY_OWNER: base58.encode(Buffer.alloc(32, 1)),
      FEE_PAYER_KEYPAIR: undefined,
      FEE_PAYER_SIGNER: url,
      FEE_PAYER_SIGNER_CA: ca && path.join(folder, ca),
    });

  it("signs when FEE_PAYER_SIGNER_CA names its authority", async () => {
    expect(await open("signer.pem")).toBeDefined();
    const ca = certificate.toString();
    const signer = await ExternalSigner.open({ url, token: undefined, ca, timeoutMs: 10_000 });
    const message = Buffer.from("a message");
    await signer.prepare(message);
    expect(signer.sign(message)).toEqual(sign(null, message, privateKey));
  });

  it.each([
    ["without FEE_PAYER_SIGNER_CA", undefined, /FEE_PAYER_SIGNER: .*self-signed certificate/],
    [
      "with another authority",
      "other.pem",
      /FEE_PAYER_SIGNER: .*(?:self-signed|unable to verify|signature failure)/,
    ],
    ["with a file that does not exist", "none.pem", /FEE_PAYER_SIGNER_CA: .*ENOENT/],
  ])("is refused %s", async (_, ca, problem) => {
    await expect(open(ca)).rejects.toThrow(problem);
  });
});
