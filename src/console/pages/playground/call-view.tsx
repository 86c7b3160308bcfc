import { Button, Card, Code, ErrorNote, Note } from "../../ui/index.ts";
import type { ConnectedWallet } from "../../wallet/connect.ts";
import type { Exchange } from "./exchange.ts";
import { ExchangeView } from "./exchange-view.tsx";
import type { PaymentQuote } from "./payment-quote.ts";
import { QuoteCard } from "./quote-card.tsx";
import { Outcome } from "./outcome.tsx";
import type { CallRecord } from "./use-playground-call.ts";

/** Whether the result is shown below: the response would repeat it. */
function hasResult({ response }: Exchange): boolean {
  return response.status === 200;
}

/** A call step by step, with the possible next actions. */
export function CallView({
  record,
  hasKey,
  onPay,
  onAgain,
  onStop,
  onNewQuote,
}: {
  record: CallRecord;
  /** Whether an API key is selected. */
  hasKey: boolean;
  onPay: (quote: PaymentQuote, wallet: ConnectedWallet) => void;
  onAgain: () => void;
  onStop: () => void;
  onNewQuote: () => void;
}) {
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

/** A call that was sent before a reload. */
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
