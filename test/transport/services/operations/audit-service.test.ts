import { type Client, status } from "@grpc/grpc-js";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AuditService } from "#gen/toolgate/v1/audit_service_pb.ts";
import { ErrorBodySchema } from "#gen/toolgate/v1/error_pb.ts";
import { CHECKS } from "../../../../src/postgres/operations/audit-checks.ts";
import { useWorld } from "../../../support/use-world.ts";
import type { Agent } from "../../../support/world.ts";
import { callGrpc, detailOf, failureOf, grpcClient, type GrpcCallOptions } from "../../grpc-client.ts";

const world = useWorld({ AUDIT_INTERVAL_SECONDS: "0" });
let client: Client;
let owner: pg.Client;
let operator: Agent;

beforeAll(async () => {
  client = grpcClient(world.gateway.grpcAddress);
  owner = new pg.Client({ connectionString: world.database.url });
  await owner.connect();
  operator = await world.agent({ operator: true, balance: 5n });
});
afterAll(async () => {
  client.close();
  await owner.end();
});

async function runAudit(options: GrpcCallOptions = {}) {
  const metadata = { authorization: `Bearer ${operator.apiKey}` };
  return (await callGrpc(client, AuditService.method.runAudit, {}, { metadata, ...options })).message;
}

async function underWay() {
  const { rows } = await owner.query(
    `select wait_event_type as waits from pg_stat_activity where application_name = 'toolgate audit'
      and state = 'active'`,
  );
  return rows.map(({ waits }) => String(waits));
}

describe("the audit over gRPC", () => {
  it("returns every invariant and its violations", async () => {
    const clean = await runAudit();
    expect(clean.clean).toBe(true);
    expect(clean.lines.map(({ invariant }) => invariant)).toEqual(CHECKS.map(({ name }) => name));
    for (const line of clean.lines)
      expect(line).toMatchObject({ description: expect.any(String), violations: 0n });

    await owner.query("update account set available = available + 1, seq = seq + 1");
    const violated = await runAudit();
    await owner.query("update account set available = available - 1, seq = seq - 1");
    expect(violated.clean).toBe(false);
    const balances = violated.lines.find(({ invariant }) => invariant === "balances");
    expect(balances?.violations).toBe(balances?.checked);
    expect(balances?.checked).toBeGreaterThan(0n);
  });

  it("runs one audit at a time and cancels its query with the call", async () => {
    const locker = new pg.Client({ connectionString: world.database.url });
    await locker.connect();
    await locker.query("begin; lock table payment in access exclusive mode");
    const caller = new AbortController();
    const gone = failureOf(runAudit({ signal: caller.signal }));
    await expect.poll(underWay).toEqual(["Lock"]);
    const second = await failureOf(runAudit());
    expect([second.code, detailOf(second, ErrorBodySchema).code]).toEqual([
      status.ABORTED,
      "REQUEST_IN_PROGRESS",
    ]);
    caller.abort();
    expect((await gone).code).toBe(status.CANCELLED);
    await expect.poll(underWay).toEqual([]);

    // The database finishes a moment before the gateway: until then the gateway answers ABORTED.
    const late = () => failureOf(runAudit({ deadline: new Date(Date.now() + 300) }));
    await expect.poll(async () => (await late()).code).toBe(status.DEADLINE_EXCEEDED);
    await expect.poll(underWay).toEqual([]);
    await locker.end();
    const next = () =>
      runAudit().then(
        ({ clean }) => clean,
        () => undefined,
      );
    await expect.poll(next).toBe(true);
  });
});
