import { describe, expect, it } from "vitest";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { CreateKeyRequestSchema, KeyWithUseSchema } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { ApiKeySchema } from "#gen/toolgate/v1/key_service_pb.ts";
import { keyState } from "../../src/console/pages/keys/key-state.ts";
import {
  emptyForm,
  fieldErrorsOf,
  formOf,
  toChange,
  toConsent,
  validate,
  toRequest,
  SCOPES,
  DEFAULT_SCOPES,
} from "../../src/console/pages/keys/key-form-values.ts";
import {
  SCOPES as ALL_SCOPES,
  DEFAULT_SCOPES as SERVER_DEFAULT_SCOPES,
} from "../../src/domain/accounts/scope.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const GOOD = { ...emptyForm(DEFAULT_SCOPES), name: " agent " };

describe("new key form", () => {
  it("offers all scopes and preselects the server defaults", () => {
    expect(SCOPES.map(({ scope }) => scope)).toEqual(ALL_SCOPES);
    expect(DEFAULT_SCOPES).toEqual(SERVER_DEFAULT_SCOPES);
  });

  it("requests a key without limits when none are entered", () => {
    const request = create(CreateKeyRequestSchema, toRequest(GOOD, NOW));
    expect(validate(GOOD, NOW)).toEqual({});
    expect(request.name).toBe("agent");
    expect(request.limits).toMatchObject({ tools: [] });
    expect(request.limits?.expiresAt ?? request.limits?.callUsdcMicrousd).toBeUndefined();
  });

  it("sends exact amounts and the end of the chosen UTC day", () => {
    const form = { ...GOOD, perCall: "0.000001", perDay: "$2.50", expires: "date", expiryDate: "2026-03-01" };
    const { limits } = create(
      CreateKeyRequestSchema,
      toRequest({ ...form, onlySelectedTools: true, tools: ["echo"] }, NOW),
    );
    expect(limits).toMatchObject({ callUsdcMicrousd: 1n, dayUsdcMicrousd: 2_500_000n, tools: ["echo"] });
    expect(timestampDate(limits!.expiresAt!).toISOString()).toBe("2026-03-02T00:00:00.000Z");
  });

  it("changes only what was edited, of the limits that were shown", () => {
    const edited = create(ApiKeySchema, {
      keyId: "key_1",
      name: "agent",
      groupId: "grp_1",
      limits: { tools: ["echo"] },
    });
    const change = toChange(edited, { ...formOf(edited), perDay: "1" }, NOW);
    expect(Object.keys(change)).toEqual(["keyId", "limits", "expectedLimits"]);
    expect(change).toMatchObject({
      limits: { dayUsdcMicrousd: 1_000_000n },
      expectedLimits: { tools: ["echo"] },
    });
    expect(toChange(edited, { ...formOf(edited), groupId: "" }, NOW)).toMatchObject({ groupId: "" });
  });

  it("allows an app the chosen scopes and limits only, amounts as decimal strings", () => {
    const app = { ...GOOD, name: " Helper ", scopes: ["compute:read"], perDay: "0.01", expires: "30" };
    expect(toConsent({ ...app, onlySelectedTools: true, tools: ["echo"] }, NOW)).toEqual({
      approve: true,
      name: "Helper",
      scopes: ["compute:read"],
      limits: { day_usdc_microusd: "10000", expires_at: "2026-03-31T12:00:00Z", tools: ["echo"] },
    });
    expect(toConsent(GOOD, NOW)["limits"]).toEqual({});
  });

  it.each([
    ["limits.day_usdc_microusd: must be at least 1", { perDay: "Must be at least 1" }],
    ["limits.tools[1]: there is no such tool", { tools: "There is no such tool" }],
    ["scopes: at least one is necessary", { scopes: "At least one is necessary" }],
    ["expires_at: is past", { expiryDate: "Is past" }],
    ["request: is not JSON", {}],
    ["the account is blocked", {}],
  ])("shows the refusal “%s” beside its field", (message, shown) => {
    expect(fieldErrorsOf(new ConnectError(message, Code.InvalidArgument))).toEqual(shown);
    expect(fieldErrorsOf(new Error(message))).toEqual({});
  });

  it("sends no tools when all tools are allowed", () => {
    expect(toRequest({ ...GOOD, onlySelectedTools: false, tools: ["echo"] }, NOW).limits?.tools).toEqual([]);
  });

  it.each([
    ["perDay", { perDay: "999999999999" }],
    ["name", { name: "  " }],
    ["scopes", { scopes: [] }],
    ["perCall", { perCall: "0" }],
    ["perCall", { perCall: "lots" }],
    ["perDay", { perDay: "1.2345678" }],
    ["expiryDate", { expires: "date", expiryDate: "2026-02-28" }],
    ["expiryDate", { expires: "date", expiryDate: "" }],
    ["tools", { onlySelectedTools: true }],
  ])("reports an error for %s: %j", (field, part) => {
    expect(Object.keys(validate({ ...GOOD, ...part }, NOW))).toEqual([field]);
  });

  it.each([
    ["0", "Minimum $0.000001."],
    ["0.0000001", "USDC has at most six decimals."],
    ["99999999999999", "Maximum $1,000,000,000."],
    ["1,000", "Use a decimal point and no commas, such as 1250.50."],
  ])("names the bound that the limit %s exceeds", (perCall, problem) => {
    expect(validate({ ...GOOD, perCall }, NOW)).toEqual({ perCall: problem });
  });

  it("sends a limit without a whole part", () => {
    expect(toRequest({ ...GOOD, perCall: ".5" }, NOW).limits).toMatchObject({ callUsdcMicrousd: 500_000n });
  });
});

describe("key state", () => {
  const key = (limits: object, more: object = {}) => create(KeyWithUseSchema, { key: { limits, ...more } });
  const inDays = (days: number) => timestampFromDate(new Date(NOW.getTime() + days * 86_400_000));

  it("is active, expiring, expired or revoked", () => {
    const states = [
      key({}),
      key({ expiresAt: inDays(30) }),
      key({ expiresAt: inDays(2) }),
      key({ expiresAt: inDays(0) }),
      key({ expiresAt: inDays(30) }, { revokedAt: inDays(-1) }),
    ].map((use) => keyState(use, NOW));
    expect(states).toEqual(["active", "active", "expiring", "expired", "revoked"]);
  });
});
