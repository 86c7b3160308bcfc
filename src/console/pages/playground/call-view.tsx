import { Button, Card, ErrorNote, Note } from "../../ui/index.ts";
import type { ConnectedWallet } from "../../wallet/connect.ts";
import { ExchangeView } from "./exchange-view.tsx";
import type { Offer } from "./payment-quote.ts";
import { OfferCard } from "./quote-card.tsx";
import { Outcome } from "./outcome.tsx";
import type { Play } from "./use-playground-call.ts";

/** A call, step by step, and what the person can do next. */
export function PlayView({
  play,
  onPay,
  onAgain,
  onNewQuote,
}: {
  play: Play;
  onPay: (offer: Offer, wallet: ConnectedWallet) => void;
  onAgain: () => void;
  onNewQuote: () => void;
}) {
  const { steps, doing, offer, payment, last, error } = play;
  const isOpen =
    doing === undefined && payment !== undefined && (last === undefined || last.answer.status >= 500);
  return (
    <Card title="What happened" note={play.call.tool}>
      <ol className="play-steps">
        {steps.map(({ title, text, exchange }, index) => (
          <li key={index}>
            <h3>{title}</h3>
            {text !== undefined && <p className="soft play-text">{text}</p>}
            {exchange && <ExchangeView exchange={exchange} open={index === steps.length - 1 && !offer} />}
          </li>
        ))}
      </ol>
      <div role="status">{doing !== undefined && <p className="play-doing">{doing}</p>}</div>
      <ErrorNote error={error} />
      {(isOpen || (error !== undefined && payment !== undefined)) && (
        <Note
          tone="warn"
          title="The call was not answered for good, and its payment may be under way"
          action={
            <Button small onClick={onAgain}>
              Ask again with the same payment
            </Button>
          }
        >
          That pays nothing twice: a payment that nothing was bought with is on your balance.
        </Note>
      )}
      {offer && (
        <OfferCard
          offer={offer}
          busy={doing !== undefined}
          onPay={(wallet) => onPay(offer, wallet)}
          onNewQuote={onNewQuote}
        />
      )}
      {doing === undefined && last && <Outcome exchange={last} />}
    </Card>
  );
}
