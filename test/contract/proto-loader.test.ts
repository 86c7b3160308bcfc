import { readdirSync } from "node:fs";
import path from "node:path";
import {
  type Client,
  credentials,
  loadPackageDefinition,
  type ServiceClientConstructor,
} from "@grpc/grpc-js";
import { loadSync, type PackageDefinition } from "@grpc/proto-loader";
import { describe, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";
import { startGateway } from "../transport/gateway.ts";

const PROTO = path.join(ROOT, "proto");
const FILES = readdirSync(PROTO, { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".proto"),
);

/** Any unary method in proto-loader's form. */
interface HealthClient extends Client {
  getHealth(request: object, answered: (error: Error | null, answer?: object) => void): void;
}

function load(file: string): PackageDefinition {
  return loadSync(file, { includeDirs: [PROTO] });
}

describe("@grpc/proto-loader", () => {
  it.each(FILES)("loads %s unchanged", (file) => {
    expect(() => load(file)).not.toThrow();
  });

  it("creates a client that calls the gateway", async () => {
    const gateway = await startGateway();
    const HealthService = loadPackageDefinition(load("toolgate/v1/health_service.proto"));
    const client = newClient(HealthService, gateway.grpcAddress);
    const { promise, resolve, reject } = Promise.withResolvers<object | undefined>();
    client.getHealth({}, (error, answer) => (error ? reject(error) : resolve(answer)));
    await expect(promise).resolves.toMatchObject({ status: "ok", version: "1.2.3" });
    client.close();
    await gateway.close();
  });
});

function newClient(loaded: object, address: string): HealthClient {
  const { toolgate } = loaded as { toolgate: { v1: { HealthService: ServiceClientConstructor } } };
  return new toolgate.v1.HealthService(address, credentials.createInsecure()) as unknown as HealthClient;
}
