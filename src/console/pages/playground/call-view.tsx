import { Button, Card, Code, ErrorNote, Note, ButtonLink } from "../../ui/index.ts";
import type { ConnectedWallet } from "../../wallet/connect.ts";
import type { Exchange } from "./exchange.ts";
import { ExchangeView } from "./exchange-view.tsx";
import type { PaymentQuote } from "./payment.ts";
import { QuoteCard } from "./quote-card.tsx";
import type { CallRecord } from "./tool-call.ts";
import type { JsonObject } from "@bufbuild/protobuf";
import { Link } from "wouter";
import { CallOutcome } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { formatUsd } from "../../format.ts";
import { ExecutionOutput } from "../run/execution-output.tsx";
import { executionOf } from "../run/execution.ts";
import { outcomeLabel } from "../status-labels.ts";
import { asObject, asText } from "./schema.ts";

/** Whether the result is shown below: the response would repeat it. */
function hasResult({ response }: Exchange): boolean {
  return response.status === 200;
}

interface CallViewProps {
  record: CallRecord;
  hasKey: boolean;
  onPay: (quote: PaymentQuote, wallet: ConnectedWallet) => void;
  onAgain: () => void;
  onStop: () => void;
  onNewQuote: () => void;
}

export function CallView({ record, hasKey, onPay, onAgain, onStop, onNewQuote }: CallViewProps) {
  const { steps, progress, partial, quote, payment, lastExchange, error } = record;
  const isRestored = record.restored && progress === undefined && lastExchange === undefined;
  const isOpen =
    progress === undefined &&
    !isRestored &&
    payment !== undefined &&
    (lastExchange === undefined || lastExchange.response.status >= 500);
  return (
    <Card title="Call details" note={record.call.tool}>
      <ol className="play-steps">
        {steps.map(({ title, text, exchange }, index) => (
          <li key={index}>
            <h3>{title}</h3>
            {text !== undefined && <p className="soft play-text">{text}</p>}
            {exchange && (
              <ExchangeView
                exchange={exchange}
                open={index === steps.length - 1 && !quote && !hasResult(exchange)}
              />
            )}
          </li>
        ))}
      </ol>
      <div className="row">
        <div role="status">{progress !== undefined && <p className="play-progress">{progress}</p>}</div>
        {progress !== undefined && record.canStop && (
          <Button small onClick={onStop}>
            Stop
          </Button>
        )}
      </div>
      {progress !== undefined && partial !== undefined && (
        <div className="play-result">
          <Code text={partial} label="answer so far" wrap />
        </div>
      )}
      {isRestored && (
        <RestoredNote resultShown={record.resultShown === true} hasKey={hasKey} onAgain={onAgain} />
      )}
      <ErrorNote error={error} />
      {(isOpen || (error !== undefined && payment !== undefined)) && (
        <Note
          tone="warn"
          title="No final response yet; the payment may be pending"
          action={
            <Button small onClick={onAgain}>
              Retry with the same payment
            </Button>
          }
        >
          A retry never pays twice. A payment that bought nothing is credited to your balance.
        </Note>
      )}
      {quote && (
        <QuoteCard
          quote={quote}
          busy={progress !== undefined}
          onPay={(wallet) => onPay(quote, wallet)}
          onNewQuote={onNewQuote}
        />
      )}
      {progress === undefined && lastExchange && <Outcome tool={record.call.tool} exchange={lastExchange} />}
    </Card>
  );
}

function RestoredNote({
  resultShown,
  hasKey,
  onAgain,
}: {
  resultShown: boolean;
  hasKey: boolean;
  onAgain: () => void;
}) {
  return (
    <Note
      title={resultShown ? "Last call before the reload" : "The page was reloaded after this call was sent"}
      action={
        <Button small disabled={!hasKey} onClick={onAgain}>
          Show the result
        </Button>
      }
    >
      Sends the call again with its idempotency key: a call that was charged is not charged again.
    </Note>
  );
}

function Outcome({ tool, exchange }: { tool: string; exchange: Exchange }) {
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
