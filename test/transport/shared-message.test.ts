import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { GetHealthResponseSchema } from "#gen/toolgate/v1/health_service_pb.ts";
import { Catalogue } from "../../src/app/calls/catalogue.ts";
import { SharedMessage, sharedEncoding } from "../../src/transport/shared-message.ts";
import { TestTools } from "./test-tools.ts";

describe("a shared message", () => {
  it("builds a message once per source and encodes it once per form", () => {
    const made: string[] = [];
    const shared = new SharedMessage(({ version }: { version: string }) => {
      made.push(version);
      return create(GetHealthResponseSchema, { version });
    });
    const [one, two] = [{ version: "1" }, { version: "2" }];
    const message = shared.of(one);
    expect(shared.of(one)).toBe(message);
    const body = sharedEncoding(message, "json", () => "{}");
    expect(sharedEncoding(message, "json", () => "another")).toBe(body);
    expect(sharedEncoding(message, "binary", () => new Uint8Array(3))).toHaveLength(3);
    expect(shared.of(two).version).toBe("2");
    expect(made).toEqual(["1", "2"]);
  });

  it("caches only the current message", () => {
    expect(sharedEncoding(create(GetHealthResponseSchema), "json", () => "{}")).toBeUndefined();
  });
});

describe("the listed tools", () => {
  it("returns the same list until a tool changes", () => {
    const [first, ...others] = new TestTools().list();
    if (!first) throw new Error("there are tools");
    const now = { status: first.status, description: first.description, inputSchema: first.inputSchema };
    const changing = {
      ...first,
      get status() {
        return now.status;
      },
      get description() {
        return now.description;
      },
      get inputSchema() {
        return now.inputSchema;
      },
    };
    const catalogue = new Catalogue([changing, ...others]);
    for (const change of [{ status: "coming_soon" }, { description: "new" }, { inputSchema: {} }] as const) {
      const before = catalogue.listed();
      expect(catalogue.listed()).toBe(before);
      Object.assign(now, change);
      expect(catalogue.listed()[0]).toMatchObject(change);
    }
  });
});
