import type { JsonObject } from "@bufbuild/protobuf";
import { Link } from "wouter";
import { CallOutcome } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { formatUsd } from "../../format.ts";
import { ButtonLink, Code, Note } from "../../ui/index.ts";
import { ExecutionOutput } from "../run/execution-output.tsx";
import { executionOf } from "../run/execution.ts";
import { outcomeLabel } from "../status-labels.ts";
import type { Exchange } from "./exchange.ts";
import { asObject, asText } from "./schema.ts";

/** The result and receipt of a call, or its error. */
export function Outcome({ tool, exchange }: { tool: string; exchange: Exchange }) {
  const { status, body } = exchange.response;
  const answer = asObject(body);
  if (status === 402 && answer["code"] === "PAYMENT_REQUIRED") return null;
  if (status !== 200) {
    const code = asText(answer["code"]);
    return (
      <Note tone="bad" title={`${status} ${code}`.trim()}>
        {asText(answer["message"]) || "The gateway sent no message."}
        {code === "UNAUTHORIZED" && (
          <p>
            The key has expired or is not valid here. Create another one, or check{" "}
            <Link href="/keys">your keys</Link>.
          </p>
        )}
      </Note>
    );
  }
  const receipt = asObject(answer["receipt"]);
  const receiptId = asText(receipt["receipt_id"]);
  const execution = executionOf(tool, asObject(answer["result"]));
  const succeeded = execution === undefined || execution.outcome === CallOutcome.SUCCEEDED;
  return (
    <>
      {receiptId === "" ? (
        <Note tone="ok" title="Free call: nothing was charged" />
      ) : (
        <Note
          tone={succeeded ? "ok" : "warn"}
          title={
            (execution ? `${outcomeLabel(execution.outcome).text}. ` : "") +
            `Charged ${amountOf(receipt)}, ` +
            paymentMethod(receipt["paid_by"])
          }
          action={
            <ButtonLink small href={`/receipts/${receiptId}`}>
              View receipt
            </ButtonLink>
          }
        >
          <code>{receiptId}</code>
        </Note>
      )}
      <h3>Result</h3>
      <div className="play-result">
        {execution ? (
          <ExecutionOutput execution={execution} />
        ) : (
          <Code text={JSON.stringify(answer["result"] ?? {}, undefined, 2)} label="result" wrap />
        )}
      </div>
    </>
  );
}

function paymentMethod(way: unknown): string {
  switch (way) {
    case "balance":
      return "paid from balance";
    case "gasless":
      return "wallet payment (no network fee)";
    case "transfer":
      return "wallet payment";
    default:
      return "paid from your account";
  }
}

/** The charge and, if it is less, what was quoted. */
function amountOf({ debited_usdc_microusd: debited, quoted_usdc_microusd: quoted }: JsonObject): string {
  if (typeof debited !== "number") return "";
  const charged = formatUsd(BigInt(debited));
  return typeof quoted === "number" && quoted > debited
    ? `${charged} of ${formatUsd(BigInt(quoted))} quoted`
    : charged;
}
