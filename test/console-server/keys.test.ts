import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { type CreateKeyRequestSchema, KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { KeyService as OperatorKeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import { BudgetLevel, BudgetPeriod } from "#gen/toolgate/v1/budget_pb.ts";
import { DEFAULT_SCOPES, SCOPES } from "../../src/domain/accounts/scope.ts";
import { signIn } from "../support/console.ts";
import { startWorld } from "../support/world.ts";
import { callGrpc, grpcClient } from "../transport/grpc-client.ts";
import { errorOf } from "./anonymous-client.ts";
import { closing } from "../support/postgres.ts";

const DAY_MS = 86_400_000;

const world = closing(await startWorld());
const owner = await world.agent({ balance: 10_000n });
const keys = (await signIn(world, owner.wallet)).client(KeyService);

const call = (secret: string, tool = "vram_estimate", params: object = { model: "llama-3.1-8b" }) =>
  world.call({ ...owner, apiKey: secret }, tool, params);

describe("console key", () => {
  it("works within its limits and is listed with its usage", async () => {
    const expiresAt = timestampFromMs(Date.now() + DAY_MS);
    const limits = { expiresAt, callUsdcMicrousd: 1_000n, dayUsdcMicrousd: 1_500n, tools: ["vram_estimate"] };
    const { key, secret } = await keys.createKey({ name: "  nightly  ", limits });
    expect(key).toMatchObject({
      accountId: owner.accountId,
      name: "nightly",
      scopes: DEFAULT_SCOPES,
      limits,
    });
    expect((await call(secret)).status).toBe(200);
    expect(await call(secret)).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
    expect(await call(secret, "echo", { message: "" })).toMatchObject({ status: 403 });
    const { keys: all } = await keys.listKeys({});
    expect(all.map((one) => one.key?.keyId)).toEqual([key?.keyId, owner.keyId]);
    expect(all[0]).toMatchObject({
      dayUsedUsdcMicrousd: 1_000n,
      spentUsdcMicrousd: 1_000n,
      chargedCalls: 1n,
    });
    expect(all[1]).toMatchObject({ dayUsedUsdcMicrousd: 0n, spentUsdcMicrousd: 0n, chargedCalls: 0n });
    expect(all[1]?.key?.limits).toBeUndefined();
    expect(
      JSON.stringify(all, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
    ).not.toContain(secret);
  });

  it("is edited in place, and shares the limit of its group", async () => {
    const { group } = await keys.createKeyGroup({ name: "CI", limits: { totalUsdcMicrousd: 1_000n } });
    const groupId = group?.groupId ?? "";
    const { key: made, secret } = await keys.createKey({ name: "builds" });
    const keyId = made?.keyId ?? "";
    const limits = { monthUsdcMicrousd: 9_000n, tools: ["vram_estimate"] };
    const { key } = await keys.updateKey({ keyId, name: "nightly builds", limits, groupId });
    expect(key).toMatchObject({
      name: "nightly builds",
      groupId,
      limits: { ...limits, warnPercent: 80 },
      budgets: [{ period: BudgetPeriod.MONTH, limitUsdcMicrousd: 9_000n, spentUsdcMicrousd: 0n }],
    });
    expect((await call(secret)).status).toBe(200);
    const shared = {
      period: "total",
      group_id: groupId,
      limit_usdc_microusd: 1_000,
      spent_usdc_microusd: 1_000,
    };
    expect(await call(secret)).toMatchObject({ status: 403, body: { limit: shared } });
    const { groups } = await keys.listKeyGroups({});
    expect(groups).toMatchObject([{ name: "CI", keyIds: [keyId] }]);
    expect(groups[0]?.budgets.at(-1)).toMatchObject({
      period: BudgetPeriod.TOTAL,
      spentUsdcMicrousd: 1_000n,
      heldUsdcMicrousd: 0n,
      reached: BudgetLevel.LIMIT,
    });
    const expectedLimits = groups[0]?.limits;
    await keys.updateKeyGroup({ groupId, limits: { totalUsdcMicrousd: 2_000n }, expectedLimits });
    const changed = /^InvalidArgument: expected_limits: /;
    expect(await errorOf(keys.updateKeyGroup({ groupId, limits: {}, expectedLimits }))).toMatch(changed);
    expect(await errorOf(keys.updateKey({ keyId, limits: {}, expectedLimits: {} }))).toMatch(changed);
    await keys.updateKey({ keyId, limits, expectedLimits: key?.limits });
    expect((await call(secret)).status).toBe(200);

    const theirs = (await signIn(world, (await world.agent()).wallet)).client(KeyService);
    const foreign = "NotFound: there is no such group of keys";
    expect(await errorOf(theirs.deleteKeyGroup({ groupId }))).toBe(foreign);
    expect(await errorOf(theirs.updateKeyGroup({ groupId, name: "mine" }))).toBe(foreign);
    expect(await errorOf(theirs.createKey({ name: "in it", groupId }))).toBe(foreign);
    expect(await errorOf(theirs.updateKey({ keyId, name: "mine" }))).toBe(
      "NotFound: there is no such API key",
    );
    expect(await errorOf(keys.updateKey({ keyId }))).toMatch(/InvalidArgument: nothing to change/);

    await keys.deleteKeyGroup({ groupId });
    expect((await keys.listKeyGroups({})).groups).toEqual([]);
    await keys.revokeKey({ keyId });
    expect(await errorOf(keys.updateKey({ keyId, name: "again" }))).toBe(
      "InvalidArgument: key_id: no longer works; create a new key",
    );
  });

  it("is not found by other accounts", async () => {
    const other = await signIn(world, (await world.agent()).wallet);
    const theirs = other.client(KeyService);
    const [known, unknown] = [owner.keyId, `key_${"0".repeat(32)}`];
    for (const keyId of [known, unknown]) {
      expect(await errorOf(theirs.revokeKey({ keyId }))).toBe("NotFound: there is no such API key");
      expect(await errorOf(theirs.rotateKey({ keyId, overlapSeconds: 0 }))).toBe(
        "NotFound: there is no such API key",
      );
    }
    expect((await theirs.listKeys({})).keys).toHaveLength(1);
    expect((await call(owner.apiKey)).status).toBe(200);
  });

  const wish = (name: string, more: MessageInitShape<typeof CreateKeyRequestSchema> = {}) => ({
    name,
    ...more,
  });
  const within = (limits: MessageInitShape<typeof CreateKeyRequestSchema>["limits"]) => wish("n", { limits });
  it.each<[string, MessageInitShape<typeof CreateKeyRequestSchema>, string]>([
    ["no name", wish(""), "name"],
    ["a blank name", wish(" \u00a0 "), "name: must not be blank"],
    ["a name of two lines", wish("a\nb"), "name: must have no control characters"],
    ["a name that turns letters around", wish("a\u202eb"), "name: must have no control characters"],
    [
      "an unknown scope",
      wish("n", { scopes: ["compute:read", "fly"] }),
      `scopes[1]: must be one of ${SCOPES.join(", ")}`,
    ],
    [
      "an unknown tool",
      within({ tools: ["echo", "nope"] }),
      "limits.tools[1]: must be one of get_status, echo, inference_chat",
    ],
    ["a tool twice", within({ tools: ["echo", "echo"] }), "limits.tools"],
    [
      "an end in the past",
      within({ expiresAt: timestampFromMs(Date.now() - 1) }),
      "limits.expires_at: must be in the future",
    ],
    ["a limit of nothing", within({ callUsdcMicrousd: 0n }), "limits.call_usdc_microusd"],
    ["a limit below nothing", within({ dayUsdcMicrousd: -1n }), "limits.day_usdc_microusd"],
  ])("is rejected with %s, naming the field", async (_, request, problem) => {
    const before = (await keys.listKeys({})).keys.length;
    expect(await errorOf(keys.createKey(request))).toContain(`InvalidArgument: ${problem}`);
    expect((await keys.listKeys({})).keys).toHaveLength(before);
  });
});

describe("operator key over gRPC", () => {
  it("has its limits validated in the same way", async () => {
    const client = grpcClient(world.gateway.grpcAddress);
    const operator = await world.agent({ operator: true });
    const metadata = { authorization: `Bearer ${operator.apiKey}` };
    const create = (limits: { dayUsdcMicrousd?: bigint; tools?: string[] }) =>
      callGrpc(
        client,
        OperatorKeyService.method.createKey,
        { accountId: owner.accountId, name: "", limits },
        { metadata },
      );
    try {
      const { message } = await create({ dayUsdcMicrousd: 5n, tools: ["echo"] });
      expect(message.key).toMatchObject({ name: "", limits: { dayUsdcMicrousd: 5n, tools: ["echo"] } });
      await expect(create({ tools: ["nope"] })).rejects.toThrow(/limits\.tools\[0\]: must be one of/);
    } finally {
      client.close();
    }
  });
});
