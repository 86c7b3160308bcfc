import { Button, Card, ErrorNote, Note } from "../../ui/index.ts";
import type { ConnectedWallet } from "../../wallet/connect.ts";
import { ExchangeView } from "./exchange-view.tsx";
import type { PaymentQuote } from "./payment-quote.ts";
import { QuoteCard } from "./quote-card.tsx";
import { Outcome } from "./outcome.tsx";
import type { CallRecord } from "./use-playground-call.ts";

/** A call step by step, with the possible next actions. */
export function CallView({
  record,
  onPay,
  onAgain,
  onNewQuote,
}: {
  record: CallRecord;
  onPay: (quote: PaymentQuote, wallet: ConnectedWallet) => void;
  onAgain: () => void;
  onNewQuote: () => void;
}) {
  const { steps, progress, quote, payment, lastExchange, error } = record;
  const isOpen =
    progress === undefined &&
    payment !== undefined &&
    (lastExchange === undefined || lastExchange.response.status >= 500);
  return (
    <Card title="Call details" note={record.call.tool}>
      <ol className="play-steps">
        {steps.map(({ title, text, exchange }, index) => (
          <li key={index}>
            <h3>{title}</h3>
            {text !== undefined && <p className="soft play-text">{text}</p>}
            {exchange && <ExchangeView exchange={exchange} open={index === steps.length - 1 && !quote} />}
          </li>
        ))}
      </ol>
      <div role="status">{progress !== undefined && <p className="play-progress">{progress}</p>}</div>
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
      {progress === undefined && lastExchange && <Outcome exchange={lastExchange} />}
    </Card>
  );
}
