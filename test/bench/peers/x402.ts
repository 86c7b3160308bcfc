import process from "node:process";
import { startReferenceServer } from "../../interop/x402-reference.ts";
import { print } from "./listen.ts";

// The official x402 library behind node:http: node test/bench/peers/x402.ts <price> <pay to> <fee payer>

const [amount = "", payTo = "", feePayer = ""] = process.argv.slice(2);
const { baseUrl } = await startReferenceServer({
  ...{ path: "/v1/mcp/tools/call", description: "one call", amount, payTo, feePayer, payer: "" },
  network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
  asset: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
});
print(Number(new URL(baseUrl).port));
