import { credentials, Client, status } from "@grpc/grpc-js";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { json } from "node:stream/consumers";
import { connect } from "node:tls";
import { afterAll, describe, expect, it } from "vitest";
import { HealthCheckResponse_ServingStatus as Serving, Health } from "#gen/grpc/health/v1/health_pb.ts";
import { readConfig } from "../../src/config/config.ts";
import { closing } from "../support/postgres.ts";
import { startGround, startHere } from "../support/world.ts";
import { selfSigned } from "../tools/custom/grpc/certificate.ts";
import { callGrpc } from "../transport/grpc-client.ts";

const folder = mkdtempSync(path.join(tmpdir(), "toolgate-tls-"));
afterAll(() => rmSync(folder, { recursive: true }));
const ground = closing(await startGround());

/** Stores a new certificate for localhost. @returns the settings of a server with it */
function store(name: string) {
  const { certificate, key } = selfSigned("localhost");
  const settings = { TLS_CERT: path.join(folder, `${name}.pem`), TLS_KEY: path.join(folder, `${name}.key`) };
  writeFileSync(settings.TLS_KEY, key);
  writeFileSync(settings.TLS_CERT, certificate);
  return { settings, certificate, key };
}

/** What a client trusts, and shows. */
interface Trust {
  readonly ca: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

async function health(baseUrl: string, trust: Trust): Promise<unknown> {
  const asked = request(`https://localhost:${new URL(baseUrl).port}/health`, { ...trust, agent: false });
  const [response] = await once(asked.end(), "response");
  return json(response);
}

async function healthOverGrpc(address: string, { ca, cert, key }: Trust) {
  const trust = credentials.createSsl(ca, key ?? null, cert ?? null);
  const client = new Client(`localhost:${address.split(":")[1]}`, trust);
  const answer = callGrpc(client, Health.method.check, {}, { deadline: new Date(Date.now() + 60_000) });
  return (await answer.finally(() => client.close())).message.status;
}

/** The certificate that a new connection gets. */
async function shown(port: string | undefined): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port: Number(port), rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

describe("a gateway with TLS_CERT", () => {
  it("serves HTTP and gRPC with TLS, and a renewed certificate without a restart", async () => {
    const { settings, certificate: ca } = store("renewed");
    const messages: string[] = [];
    const note = (_: object, message: string) => void messages.push(message);
    const log = { info: note, warn: note, error: note };
    const gateway = await startHere({ ...ground.settings, ...settings, PUBLIC_URL: "" }, log);
    try {
      const ports = [new URL(gateway.baseUrl).port, gateway.grpcAddress.split(":")[1]];
      expect(gateway.baseUrl).toMatch(/^https:/);
      expect(await health(gateway.baseUrl, { ca })).toMatchObject({ status: "ok" });
      expect(await healthOverGrpc(gateway.grpcAddress, { ca })).toBe(Serving.SERVING);
      await expect(health(gateway.baseUrl, { ca: selfSigned("localhost").certificate })).rejects.toThrow(
        /self-signed|unable to verify/,
      );

      const plain = connectPlain({ host: "127.0.0.1", port: Number(ports[0]) });
      plain.resume().end("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await once(plain, "close");

      const all = () => Promise.all(ports.map(shown));
      const before = await all();
      writeFileSync(settings.TLS_CERT, "half a file");
      await expect.poll(() => messages).toContain("the certificate in force stays");
      expect(await all()).toEqual(before);
      const renewed = store("renewed");
      await expect.poll(all).not.toContain(before[0]);
      expect(await health(gateway.baseUrl, { ca: renewed.certificate })).toMatchObject({ status: "ok" });
      expect(await healthOverGrpc(gateway.grpcAddress, { ca: renewed.certificate })).toBe(Serving.SERVING);
    } finally {
      await gateway.close();
    }
  });

  it("serves only clients with a certificate of TLS_CLIENT_CA", async () => {
    const { settings, certificate: ca } = store("server");
    const proxy = store("proxy");
    const others = store("others");
    const own = { ca, cert: proxy.certificate, key: proxy.key };
    const gateway = await startHere({
      ...{ ...ground.settings, ...settings, PUBLIC_URL: "", TLS_CLIENT_CA: proxy.settings.TLS_CERT },
    });
    try {
      expect(await health(gateway.baseUrl, own)).toMatchObject({ status: "ok" });
      expect(await healthOverGrpc(gateway.grpcAddress, own)).toBe(Serving.SERVING);
      const unknown = { ca, cert: others.certificate, key: others.key };
      for (const trust of [{ ca }, unknown]) {
        await expect(health(gateway.baseUrl, trust)).rejects.toThrow(/certificate|alert|ECONNRESET|hang up/);
        const refused = { code: status.UNAVAILABLE };
        await expect(healthOverGrpc(gateway.grpcAddress, trust)).rejects.toMatchObject(refused);
      }
    } finally {
      await gateway.close();
    }
  });

  it("refuses to start with files that cannot be used", async () => {
    const { settings } = store("own");
    const other = store("other");
    const broken = path.join(folder, "broken.pem");
    writeFileSync(broken, "-----BEGIN CERTIFICATE-----\n");
    for (const [change, problem] of [
      [{ TLS_CERT: path.join(folder, "none.pem") }, "TLS_CERT: .*none.pem cannot be read .ENOENT.; set"],
      [{ TLS_CERT: broken }, "TLS_CERT: the file is not valid PEM"],
      [{ TLS_KEY: other.settings.TLS_KEY }, "TLS_KEY: the file is not valid PEM, or is not the key"],
      [{ TLS_CLIENT_CA: broken }, "TLS_CLIENT_CA: the file is not valid PEM"],
    ] as const) {
      const start = startHere({ ...ground.settings, ...settings, ...change });
      await expect(start).rejects.toThrow(new RegExp(problem));
    }
    expect(() => readConfig({ TLS_CERT: broken })).toThrow("TLS_CERT, TLS_KEY: set both, or neither");
    expect(() => readConfig({ TLS_CLIENT_CA: broken })).toThrow("TLS_CLIENT_CA: needs TLS_CERT");
  });
});
