import { auditOfLedger } from "./audit-part.ts";
import type { Part } from "./bench.ts";
import { idleConnections } from "./connections-part.ts";
import { growth } from "./growth-part.ts";
import { retention, retentionSettings } from "./growth-retention.ts";
import { cost } from "./cost-part.ts";
import { grpcEcho } from "./grpc-part.ts";
import { echo, paymentRequired } from "./http-part.ts";
import { cells, instances } from "./instances-part.ts";
import { mcp } from "./mcp-part.ts";
import { paidCalls } from "./paid-part.ts";
import { readers } from "./readers-part.ts";
import { proofs } from "./proof-part.ts";
import { sandbox } from "./sandbox-part.ts";
import { start } from "./start-part.ts";
import { streams } from "./stream-part.ts";
import { x402, x402Settings } from "./x402-part.ts";

/** Every part of the benchmark. `cost` comes first: the log that it counts is the whole database server's. */
export const PARTS: readonly Part[] = [
  { name: "cost", title: "What a call takes", quick: true, run: cost },
  { name: "start", title: "Start and idle memory", quick: true, run: start },
  { name: "echo", title: "HTTP/JSON: a free call", quick: true, loadsSharedGateway: true, run: echo },
  { name: "mcp", title: "MCP: a free call", quick: true, loadsSharedGateway: true, run: mcp },
  {
    name: "402",
    title: "HTTP/JSON: a call without money",
    quick: true,
    loadsSharedGateway: true,
    run: paymentRequired,
  },
  {
    name: "x402",
    title: "Selling by x402",
    quick: true,
    loadsSharedGateway: true,
    settings: x402Settings,
    run: x402,
  },
  { name: "grpc", title: "gRPC: a free call", quick: true, loadsSharedGateway: true, run: grpcEcho },
  { name: "connections", title: "Idle connections", run: idleConnections },
  { name: "paid", title: "A paid call", quick: true, loadsSharedGateway: true, run: paidCalls },
  {
    name: "proof",
    title: "A paid call with a proof",
    quick: true,
    loadsSharedGateway: true,
    ownGateway: true,
    run: proofs,
  },
  { name: "stream", title: "Streamed chats", quick: true, ownGateway: true, run: streams },
  { name: "instances", title: "Several instances", run: instances },
  { name: "cells", title: "Several cells", run: cells },
  { name: "readers", title: "Readers beside buyers", run: readers },
  { name: "audit", title: "The audit", run: auditOfLedger },
  { name: "growth", title: "A ledger that grows", quick: true, run: growth },
  {
    ...{ name: "retention", title: "Removing what is old" },
    ...{ settings: retentionSettings, ownDatabase: true, run: retention },
  },
  { name: "sandbox", title: "The sandbox", run: sandbox },
];
