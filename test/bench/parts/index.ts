import type { Part } from "../bench.ts";
import { audit } from "./audit.ts";
import { chat } from "./chat.ts";
import { grpc } from "./grpc.ts";
import { growth } from "./growth.ts";
import { http } from "./http.ts";
import { instances } from "./instances.ts";
import { mcp } from "./mcp.ts";
import { paidHot } from "./paid-hot.ts";
import { paidMany } from "./paid-many.ts";
import { paymentRequired } from "./payment-required.ts";
import { proof } from "./proof.ts";
import { restart } from "./restart.ts";
import { sandbox } from "./sandbox.ts";
import { start } from "./start.ts";
import { x402 } from "./x402.ts";

export const PARTS: readonly Part[] = [
  http,
  mcp,
  grpc,
  paymentRequired,
  x402,
  paidHot,
  paidMany,
  proof,
  chat,
  growth,
  start,
  instances,
  sandbox,
  audit,
  restart,
];
