import { useMutation } from "@tanstack/react-query";
import type { Wallet } from "@wallet-standard/base";
import { useEffect, useState } from "react";
import { formatDuration, formatUsd } from "../../format.ts";
import { Button, ErrorNote, Note } from "../../ui/index.ts";
import type { ConnectedWallet } from "../../wallet/connect.ts";
import { WalletButtons } from "../../wallet/wallet-buttons.tsx";
import { useWallets } from "../../wallet/wallet-provider.tsx";
import { type PaymentQuote, isGasless } from "./payment.ts";

interface QuoteCardProps {
  quote: PaymentQuote;
  busy: boolean;
  onPay: (wallet: ConnectedWallet) => void;
  onNewQuote: () => void;
}

export function QuoteCard({ quote, busy, onPay, onNewQuote }: QuoteCardProps) {
  const { connected, connect } = useWallets();
  const connecting = useMutation({ mutationFn: (wallet: Wallet) => connect(wallet) });
  const left = useTimeLeft(quote.expiresAt);
  if (left <= 0) {
    return (
      <Note
        tone="warn"
        title="The quote has expired"
        action={
          <Button small onClick={onNewQuote}>
            Get a new quote
          </Button>
        }
      >
        Nothing was paid.
      </Note>
    );
  }
  return (
    <div className="quote">
      <div className="quote-price">
        <strong>{formatUsd(quote.price)}</strong>
        <span className="faint">
          for this call · quote valid for <span className="time">{formatDuration(left)}</span>
        </span>
      </div>
      {connected ? (
        <>
          <Button tone="primary" icon="wallet" busy={busy} onClick={() => onPay(connected)}>
            Pay {formatUsd(quote.price)} with {connected.wallet.name}
          </Button>
          <p className="hint">
            {isGasless(quote, connected)
              ? "Your wallet signs a USDC transfer. The gateway submits it and pays the network fee."
              : "Your wallet pays the network fee, a fraction of a cent in SOL."}
          </p>
        </>
      ) : (
        <>
          <p className="soft">Your balance does not cover this call. Choose a wallet to pay for it:</p>
          <WalletButtons
            busy={connecting.isPending ? connecting.variables.name : undefined}
            onChoose={(wallet) => connecting.mutate(wallet)}
          />
          <ErrorNote error={connecting.error} />
        </>
      )}
    </div>
  );
}

/** Returns the time left, ms, in whole seconds. */
function useTimeLeft(until: Date): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, Math.ceil((until.getTime() - now) / 1_000) * 1_000);
}
