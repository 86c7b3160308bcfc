import { type Mutant, sqlFile } from "./mutant.ts";

const CAUSES = ["test/postgres/webhooks/causes.test.ts"];
const DELIVERY = ["test/postgres/webhooks/delivery.test.ts"];
const OUTBOX = ["test/postgres/webhooks/outbox.test.ts"];
const SENDER = ["test/outbound/webhook-sender.test.ts", "test/outbound/address-guard.test.ts"];

const QUEUE = "src/postgres/webhooks/webhook-queue.ts";
const ENDPOINTS = "src/postgres/webhooks/webhook-endpoints.ts";
const ATTEMPT = "src/app/webhooks/attempt-delivery.ts";

/** Events, their signatures and their delivery. */
export const WEBHOOKS: readonly Mutant[] = [
  {
    name: "webhook-wanted",
    guard: "Only enabled endpoints that want its type receive an event.",
    file: sqlFile("functions/event_add.sql"),
    find: "where account_id = account and disabled is null and event_type = any (types)",
    replace: "where account_id = account",
    tests: OUTBOX,
  },
  {
    name: "webhook-low-balance-once",
    guard: "A released hold does not report a low balance again.",
    file: sqlFile("triggers/balance_low.sql"),
    find: "and id >= encode(ledger_time() || '\\x0000000000000000'::bytea, 'hex')::uuid",
    replace: "",
    tests: CAUSES,
  },
  {
    name: "webhook-refund-once",
    guard: "A refund is reported once.",
    file: sqlFile("functions/ledger_refund.sql"),
    find: "where charged.id = receipt_id and refund.id is not null",
    replace: "where charged.id = receipt_id",
    tests: CAUSES,
  },
  {
    name: "webhook-timestamp",
    guard: "A webhook's signature covers its timestamp.",
    file: "src/domain/webhooks/signature.ts",
    find: "`${id}.${timestamp}.${body}`",
    replace: "`${id}.${body}`",
    tests: DELIVERY,
  },
  {
    name: "webhook-redirect",
    guard: "A webhook follows no redirect.",
    file: "src/outbound/guarded-fetch.ts",
    find: 'redirect: "manual"',
    replace: 'redirect: "follow"',
    tests: DELIVERY,
  },
  {
    name: "webhook-address",
    guard: "A webhook reaches public addresses only.",
    file: "src/outbound/webhook-sender.ts",
    find: "openGuardedFetch({ ...guard, maxBytes: 0 })",
    replace: 'openGuardedFetch({ ...guard, network: "any", maxBytes: 0 })',
    tests: SENDER,
  },
  {
    name: "webhook-lease",
    guard: "Two instances never deliver to an endpoint at once.",
    file: QUEUE,
    find: "and lease_until < now() order by",
    replace: "order by",
    tests: DELIVERY,
  },
  {
    name: "webhook-order",
    guard: "An endpoint receives events in their order.",
    file: QUEUE,
    find: "order by delivery.seq limit 1",
    replace: "order by delivery.seq desc limit 1",
    tests: DELIVERY,
  },
  {
    name: "webhook-gone",
    guard: "A response of 410 disables its endpoint.",
    file: ATTEMPT,
    find: "if (answer?.status === 410)",
    replace: "if (answer?.status === 419)",
    tests: DELIVERY,
  },
  {
    name: "webhook-own",
    guard: "An account changes its own endpoints only.",
    file: ENDPOINTS,
    find: "retry_at = case when $5 then now() else retry_at end where account_id = $1 and id = $2",
    replace: "retry_at = case when $5 then now() else retry_at end where $1::uuid is not null and id = $2",
    tests: DELIVERY,
  },
];
