import { auditOfLedger } from "./audit-part.ts";
import type { Part } from "./bench.ts";
import { idleConnections } from "./connections-part.ts";
import { growth } from "./growth-part.ts";
import { retention, retentionSettings } from "./growth-retention.ts";
import { cost } from "./cost-part.ts";
import { grpcEcho } from "./grpc-part.ts";
import { echo, paymentRequired } from "./http-part.ts";
import { instances } from "./instances-part.ts";
import { mcp } from "./mcp-part.ts";
import { paidCalls } from "./paid-part.ts";
import { proofs } from "./proof-part.ts";
import { sandbox } from "./sandbox-part.ts";
import { start } from "./start-part.ts";
import { x402, x402Settings } from "./x402-part.ts";

/** Every part of the benchmark, in the order of docs/explanation/performance.md. */
export const PARTS: readonly Part[] = [
  { name: "start", title: "Start and idle memory", run: start },
  { name: "echo", title: "HTTP/JSON: a free call", loadsSharedGateway: true, run: echo },
  { name: "mcp", title: "MCP: a free call", loadsSharedGateway: true, run: mcp },
  { name: "402", title: "HTTP/JSON: a call without money", loadsSharedGateway: true, run: paymentRequired },
  {
    name: "x402",
    title: "Selling by x402",
    ownBars: true,
    loadsSharedGateway: true,
    settings: x402Settings,
    run: x402,
  },
  { name: "grpc", title: "gRPC: a free call", loadsSharedGateway: true, run: grpcEcho },
  { name: "connections", title: "Idle connections", run: idleConnections },
  { name: "paid", title: "A paid call", loadsSharedGateway: true, run: paidCalls },
  {
    name: "proof",
    title: "A paid call with a proof",
    loadsSharedGateway: true,
    ownGateway: true,
    run: proofs,
  },
  { name: "cost", title: "What a call takes", ownBars: true, run: cost },
  { name: "instances", title: "Several instances", ownBars: true, run: instances },
  { name: "audit", title: "The audit", ownBars: true, run: auditOfLedger },
  { name: "growth", title: "A ledger that grows", run: growth },
  {
    ...{ name: "retention", title: "Removing what is old" },
    ...{ settings: retentionSettings, ownDatabase: true, run: retention },
  },
  { name: "sandbox", title: "The sandbox", ownBars: true, run: sandbox },
];
