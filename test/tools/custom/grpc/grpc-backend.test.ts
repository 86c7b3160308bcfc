import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { ServerCredentials, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { JsonObject } from "../../../../src/domain/core/json.ts";
import type { Guard } from "../../../../src/outbound/address-guard.ts";
import type { BackendOptions } from "../../../../src/tools/custom/backend-options.ts";
import { GrpcBackend } from "../../../../src/tools/custom/grpc/grpc-backend.ts";
import type { GrpcSection } from "../../../../src/tools/custom/grpc/section.ts";
import { startGateway } from "../../../transport/gateway.ts";
import { selfSigned } from "./certificate.ts";
import { startOddServer, type OddServer, type OddServerOptions } from "./odd-server.ts";
import { buildOddTypes, type OddTypes } from "./odd-types.ts";
import { startRelay } from "./relay.ts";

interface Settings extends Partial<Omit<BackendOptions<GrpcSection>, "section">> {
  section?: Partial<GrpcSection>;
}

const HERE: Guard = { network: "public", allowHosts: new Set(["127.0.0.1"]) };
const never = new AbortController().signal;

describe("gRPC backend", () => {
  let types: OddTypes;
  let server: OddServer;
  let folder: string;

  beforeAll(async () => {
    types = await buildOddTypes();
    server = await startOddServer(types);
    folder = await mkdtemp(path.join(tmpdir(), "odd-files-"));
  });
  afterAll(() => server.close());

  function open(method: string, { section, ...settings }: Settings = {}): GrpcBackend {
    const backend = new GrpcBackend({
      tool: "odd_tool",
      section: {
        address: `127.0.0.1:${server.port}`,
        method: `odd.v1.OddService/${method}`,
        tls: false,
        ...section,
      },
      headers: { authorization: "Bearer the-secret" },
      timeoutMs: 20_000,
      maxResponseBytes: 100_000,
      guard: HERE,
      ...settings,
    });
    onTestFinished(() => backend.close());
    return backend;
  }

  async function another(options: OddServerOptions): Promise<OddServer> {
    const one = await startOddServer(types, options);
    onTestFinished(() => one.close());
    return one;
  }

  async function call(backend: GrpcBackend, params: JsonObject, signal = never): Promise<JsonObject> {
    const { result } = await backend.call(params, { signal, idempotencyKey: "run_1" });
    return result;
  }

  function descriptorSet(set = types.set): Promise<string> {
    const file = path.join(folder, `${Math.random()}.binpb`);
    return writeFile(file, toBinary(FileDescriptorSetSchema, set)).then(() => file);
  }

  describe("description", () => {
    it.each(["v1", "v1alpha"] as const)("describes itself by reflection, %s", async (reflection) => {
      const { port } = await another({ reflection });
      const backend = open("Perform", { section: { address: `127.0.0.1:${port}` } });
      const { inputSchema } = await backend.describe(never);
      expect(inputSchema).toMatchObject({ type: "object", properties: { what: { type: "string" } } });
      expect(await call(backend, { what: "hello" })).toEqual({ text: "hello" });
    });

    it("describes itself from a file with comments, while the server is down", async () => {
      const backend = open("Echo", { section: { descriptor_set: types.file, address: "127.0.0.1:1" } });
      expect((await backend.describe(never)).description).toBe(
        "Gives back what it gets.\n\nNothing is kept.",
      );
    });

    it.each([
      ["Watch", "odd.v1.OddService/Watch is a streaming method"],
      ["Now", "odd.v1.OddService/Now answers with google.protobuf.Timestamp, which is not an object in JSON"],
      ["Nowhere", "odd.v1.OddService has no method Nowhere; there is Echo, Rules"],
    ])("says why %s cannot be a tool", async (method, problem) => {
      await expect(open(method).describe(never)).rejects.toThrow(problem);
    });

    it("names the server's services if the configured one is unknown", async () => {
      const backend = open("Echo", { section: { method: "no.v1.Service/Echo" } });
      await expect(backend.describe(never)).rejects.toThrow(
        "no service no.v1.Service; it has odd.v1.OddService",
      );
    });

    it("requires a descriptor set if the server has no reflection", async () => {
      const { port } = await another({ reflection: "none" });
      const backend = open("Echo", { section: { address: `127.0.0.1:${port}` } });
      await expect(backend.describe(never)).rejects.toThrow("set descriptor_set instead");
    });

    it("names imports missing from a descriptor set", async () => {
      const file = types.set.file.filter(({ name }) => name !== "buf/validate/validate.proto");
      const section = { descriptor_set: await descriptorSet(create(FileDescriptorSetSchema, { file })) };
      await expect(open("Echo", { section }).describe(never)).rejects.toThrow(
        /imports buf\/validate\/validate.proto and does not hold it; build it with its imports/,
      );
    });

    it("does not need the well-known types in a descriptor set", async () => {
      const file = types.set.file.filter(({ name }) => !name.startsWith("google/protobuf/"));
      const section = { descriptor_set: await descriptorSet(create(FileDescriptorSetSchema, { file })) };
      expect((await open("Echo", { section }).describe(never)).inputSchema["type"]).toBe("object");
    });

    it("reports an unreadable or missing descriptor set", async () => {
      const text = path.join(folder, "text.binpb");
      await writeFile(text, "message X {}");
      await expect(open("Echo", { section: { descriptor_set: text } }).describe(never)).rejects.toThrow(
        "is not a binary google.protobuf.FileDescriptorSet",
      );
      await expect(open("Echo", { section: { descriptor_set: `${text}x` } }).describe(never)).rejects.toThrow(
        "cannot be read",
      );
    });

    it("stops describing at the time limit", async () => {
      const backend = open("Echo", { section: { address: "127.0.0.1:1" } });
      await expect(backend.describe(AbortSignal.timeout(20))).rejects.toThrow("failed to describe itself");
    });
  });

  describe("what a meter reads", () => {
    it("contains the server's metadata and trailers", async () => {
      const answer = await open("Perform").call(
        { what: "metered" },
        { signal: never, idempotencyKey: "run_1" },
      );
      expect(answer).toMatchObject({
        result: { text: "metered" },
        headers: { "x-units": "3" },
        trailers: { "x-units": "4" },
      });
    });

    it("resolves fields of the response to the members of its JSON", async () => {
      const { fieldPath } = await open("Echo").describe(never);
      expect(fieldPath?.("a_double")).toEqual(["aDouble"]);
      expect(fieldPath?.("inner.inner.named")).toEqual(["inner", "inner", "called-otherwise"]);
      expect(() => fieldPath?.("no_field")).toThrow(
        /^meter\.field: odd\.v1\.\w+ has no field no_field; there are /,
      );
      expect(() => fieldPath?.("a_double.deeper")).toThrow("Everything.a_double is not a single message");
      for (const many of ["longs", "inner", "a_colour"])
        expect(() => fieldPath?.(many)).toThrow(`Everything.${many} is not a single number`);
    });
  });

  describe("calls", () => {
    it("sends and returns values that JSON cannot express directly", async () => {
      const params = {
        aInt64: "-9223372036854775808",
        aUint64: "18446744073709551615",
        aDouble: "NaN",
        aBytes: "AAEC/w==",
        aColour: "COLOUR_NEGATIVE",
        byLong: { "-5": "five" },
        byName: { __proto: { aString: "deep" } },
        inner: { inner: { more: [{ maybe: 0 }] } },
        chosenNull: null,
        at: "2026-11-21T10:00:00.5Z",
        during: "-1.500s",
        struct: { any: ["thing", null] },
        value: null,
        mask: "a,bC.d",
        longValue: "7",
        "called-otherwise": "so",
      };
      const result = await call(open("Echo"), params);
      expect(result).toMatchObject({ ...params, at: "2026-11-21T10:00:00.500Z" });
      // Zero values are included.
      expect(result).toMatchObject({ aInt32: 0, aBool: false, longs: [] });
    });

    it("sends an empty message for empty parameters", async () => {
      expect(await call(open("Nothing"), {})).toEqual({});
    });

    it("sends the operator's metadata, the run as idempotency-key, and a deadline", async () => {
      await call(open("Perform"), { what: "x" });
      const { metadata, deadline } = server.seen.at(-1)!;
      expect(metadata.get("authorization")).toEqual(["Bearer the-secret"]);
      expect(metadata.get("idempotency-key")).toEqual(["run_1"]);
      expect(deadline).toBeGreaterThan(Date.now());
      expect(deadline).toBeLessThan(Date.now() + 60_000);
    });

    it("reuses one connection", async () => {
      const backend = open("Perform", { section: { descriptor_set: types.file } });
      const before = server.connections();
      await call(backend, { what: "first" });
      await Promise.all([call(backend, { what: "second" }), call(backend, { what: "third" })]);
      expect(server.connections()).toBe(before + 1);
    });

    it("decodes google.protobuf.Any of known types", async () => {
      expect(await call(open("Perform"), { what: "known" })).toMatchObject({
        any: { "@type": "type.googleapis.com/odd.v1.Act", what: "inside" },
      });
    });

    it("rejects parameters that protobuf cannot parse, without a call", async () => {
      const backend = open("Echo");
      await backend.describe(never);
      const before = server.seen.length;
      const refused = expect.objectContaining({
        code: "INVALID_REQUEST",
        message: expect.stringMatching(/^params: /),
      });
      expect(() => backend.check({ at: "0001-01-01T00:00:00+01:00" })).toThrow(refused);
      await expect(call(backend, { at: "0001-01-01T00:00:00+01:00" })).rejects.toEqual(refused);
      expect(server.seen.length).toBe(before);
    });
  });

  describe("failures", () => {
    it.each([
      ["INTERNAL", "TOOL_FAILED", "odd_tool: the server answered INTERNAL; nothing was charged"],
      [
        "UNAUTHENTICATED",
        "TOOL_FAILED",
        "odd_tool: the server answered UNAUTHENTICATED; nothing was charged",
      ],
      [
        "UNAVAILABLE",
        "UNAVAILABLE",
        "odd_tool: the server is not available; nothing was charged, try again in 2 s",
      ],
    ] as const)("reports %s in the gateway's own words", async (name, code, message) => {
      const failure = call(open("Perform"), { what: "refuse", code: status[name] });
      await expect(failure).rejects.toMatchObject({ code, message, cause: { details: "the reason why" } });
    });

    it.each([
      "INVALID_ARGUMENT",
      "NOT_FOUND",
      "ALREADY_EXISTS",
      "FAILED_PRECONDITION",
      "OUT_OF_RANGE",
    ] as const)("hands on the words of %s", async (name) => {
      const failure = call(open("Perform"), { what: "refuse", code: status[name] });
      const message = `odd_tool: the server answered ${name}: the reason why; nothing was charged`;
      await expect(failure).rejects.toMatchObject({
        code: "TOOL_FAILED",
        status: 400,
        message,
        worked: true,
      });
    });

    it("passes on the server's retry delay", async () => {
      await expect(call(open("Perform"), { what: "busy" })).rejects.toMatchObject({
        code: "UNAVAILABLE",
        status: 429,
        retryAfterSeconds: 7,
      });
    });

    it.each(["garbage", "unknown"])("reports a %s answer as a failure", async (what) => {
      const failure = call(open("Perform"), { what });
      await expect(failure).rejects.toMatchObject({
        code: "TOOL_FAILED",
        message: "odd_tool: the server's answer could not be read; nothing was charged",
        worked: true,
      });
    });

    it("replaces an oversized answer by a placeholder", async () => {
      const reason = "the answer is longer than 100000 bytes";
      expect(await call(open("Perform"), { what: "flood" })).toEqual({
        omitted: "too_long",
        reason,
        bytes: null,
      });
    });

    it("cancels the call when the caller aborts", async () => {
      const leaving = new AbortController();
      const failure = call(open("Perform"), { what: "wait" }, leaving.signal);
      await expect.poll(() => server.seen.at(-1)).toMatchObject({ method: "Perform", cancelled: false });
      leaving.abort();
      await expect(failure).rejects.toMatchObject({ code: "TOOL_FAILED" });
      await expect.poll(() => server.seen.at(-1)!.cancelled).toBe(true);
    });

    it("times out, and sends the deadline to the server", async () => {
      const failure = call(open("Perform", { timeoutMs: 300 }), { what: "wait" });
      await expect(failure).rejects.toMatchObject({ message: expect.stringContaining("within 0.3 s") });
    });

    it("fails once if the connection breaks during a call, then reconnects", async () => {
      const one = await another({});
      const backend = open("Perform", {
        section: { address: `127.0.0.1:${one.port}`, descriptor_set: types.file },
      });
      const failure = call(backend, { what: "wait" });
      await expect.poll(() => one.seen).toHaveLength(1);
      one.cut();
      await expect(failure).rejects.toMatchObject({ code: "UNAVAILABLE" });
      await expect.poll(() => call(backend, { what: "again" })).toEqual({ text: "again" });
      expect(one.seen.filter(({ metadata }) => metadata.get("idempotency-key").length > 0)).toHaveLength(2);
    });
  });

  describe("connections", () => {
    it("blocks private networks unless the host is allowed", async () => {
      const before = server.connections();
      const section = { descriptor_set: types.file };
      const failure = call(open("Perform", { section, guard: { network: "public" } }), { what: "x" });
      await expect(failure).rejects.toMatchObject({
        code: "TOOL_FAILED",
        cause: { code: status.PERMISSION_DENIED },
      });
      expect(server.connections()).toBe(before);
    });

    it("connects to the resolved address and resolves again after losing it", async () => {
      const asked: string[] = [];
      const guard: Guard = {
        network: "public",
        allowHosts: new Set(["odd.test"]),
        lookup: (name, _options, callback) => {
          asked.push(name);
          process.nextTick(() => callback(null, [{ address: "127.0.0.1", family: 4 }]));
        },
      };
      const one = await another({});
      const section = { descriptor_set: types.file, address: `Odd.test:${one.port}` };
      const backend = open("Perform", { section, guard });
      await call(backend, { what: "x" });
      expect(asked).toEqual(["odd.test"]);
      one.cut();
      const lookups = async () => {
        await call(backend, { what: "x" });
        return asked.length;
      };
      await expect.poll(lookups).toBeGreaterThan(1);
    });

    it("limits lookups while the server is down", async () => {
      let asked = 0;
      const guard: Guard = {
        network: "any",
        lookup: (_name, _options, callback) => {
          asked += 1;
          setImmediate(() => callback(null, [{ address: "127.0.0.1", family: 4 }]));
        },
      };
      const gone = await startRelay(1);
      gone.close();
      const section = { descriptor_set: types.file, address: `odd.test:${gone.port}` };
      const backend = open("Perform", { section, guard });
      for (const what of ["once", "twice"])
        await expect(call(backend, { what })).rejects.toMatchObject({ code: "UNAVAILABLE" });
      const before = asked;
      // Enough for thousands of lookups in a tight loop.
      for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      expect(asked - before).toBeLessThan(5);
    });

    it("always blocks cloud metadata addresses", async () => {
      const guard: Guard = {
        network: "any",
        allowHosts: new Set(["odd.test"]),
        lookup: (_name, _options, callback) => callback(null, [{ address: "169.254.169.254", family: 4 }]),
      };
      const section = { descriptor_set: types.file, address: `odd.test:${server.port}` };
      await expect(call(open("Perform", { section, guard }), { what: "x" })).rejects.toMatchObject({
        cause: { code: status.PERMISSION_DENIED, details: expect.stringContaining("odd.test") },
      });
    });

    it("verifies TLS with the operator's own certificates", async () => {
      const { certificate, key } = selfSigned("odd.test");
      const credentials = ServerCredentials.createSsl(null, [{ private_key: key, cert_chain: certificate }]);
      const one = await another({ credentials });
      const ca_file = path.join(folder, "ca.pem");
      await writeFile(ca_file, certificate);
      const guard = (name: string): Guard => ({
        network: "public",
        allowHosts: new Set([name]),
        lookup: (_name, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]),
      });
      const secured = (name: string, tls: GrpcSection["tls"]) =>
        open("Perform", {
          section: { descriptor_set: types.file, tls, address: `${name}:${one.port}` },
          guard: guard(name),
        });
      expect(await call(secured("odd.test", { ca_file }), { what: "x" })).toEqual({ text: "x" });
      await expect(call(secured("other.test", { ca_file }), { what: "x" })).rejects.toMatchObject({
        code: "UNAVAILABLE",
      });
      await expect(call(secured("odd.test", true), { what: "x" })).rejects.toMatchObject({
        code: "UNAVAILABLE",
      });
    });

    it("calls this gateway like any gRPC server", async () => {
      const gateway = await startGateway();
      onTestFinished(() => gateway.close());
      const section = { address: gateway.grpcAddress, method: "toolgate.v1.HealthService/GetHealth" };
      const backend = open("", { section, headers: {} });
      expect((await backend.describe(never)).inputSchema).toMatchObject({ type: "object" });
      expect(await call(backend, {})).toMatchObject({ status: expect.stringMatching(/./) });
    });
  });
});
