import { useMutation } from "@connectrpc/connect-query";
import { useMutation as useWork } from "@tanstack/react-query";
import { useState } from "react";
import type { Wallet } from "@wallet-standard/base";
import { DepositService, type Deposit } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { formatUsd, truncateMiddle } from "../../format.ts";
import { Button, Card, ErrorNote } from "../../ui/index.ts";
import type { ConnectedWallet } from "../../wallet/connect.ts";
import { sendSignedTransaction } from "../../wallet/send-signed-transaction.ts";
import { signTransaction } from "../../wallet/sign-transaction.ts";
import { WalletButtons } from "../../wallet/wallet-buttons.tsx";
import { useWallets } from "../../wallet/wallet-provider.tsx";

/** Pays with a browser wallet: the gateway builds and submits the transaction, the wallet signs it. */
export function PayWithWallet({ deposit, onSent }: { deposit: Deposit; onSent: () => void }) {
  const { connected, connect } = useWallets();
  const [choosing, setChoosing] = useState(false);
  const connecting = useWork({
    mutationFn: (wallet: Wallet) => connect(wallet),
    onSuccess: () => setChoosing(false),
  });
  const paying = usePayment(deposit.depositId, onSent);
  const amount = formatUsd(deposit.amountUsdcMicrousd);
  return (
    <Card title="Pay with this wallet">
      {connected && !choosing ? (
        <>
          <p className="pay-wallet">
            <img src={connected.wallet.icon} alt="" width="32" height="32" />
            <span>
              <strong>{connected.wallet.name}</strong>
              <code className="faint">{truncateMiddle(connected.account.address, 6, 6)}</code>
            </span>
            <Button small tone="quiet" disabled={paying.isPending} onClick={() => setChoosing(true)}>
              Use another wallet
            </Button>
          </p>
          <Button
            tone="primary"
            busy={paying.isPending}
            disabled={paying.isSuccess}
            onClick={() => paying.mutate(connected)}
          >
            {paying.isSuccess ? "Sent" : `Pay ${amount}`}
          </Button>
          <p className="hint" role="status">
            {paying.isPending
              ? "Confirm the payment in your wallet."
              : paying.isSuccess
                ? "Transaction sent. The steps above show its progress."
                : "Your wallet pays the network fee, a fraction of a cent in SOL."}
          </p>
          <ErrorNote error={paying.error} />
        </>
      ) : (
        <>
          <p className="soft">Choose a wallet to pay with. It can differ from the one you signed in with.</p>
          <WalletButtons
            busy={connecting.isPending ? connecting.variables.name : undefined}
            onChoose={(wallet) => connecting.mutate(wallet)}
          />
          <ErrorNote error={connecting.error} />
        </>
      )}
    </Card>
  );
}

/** Builds, signs and submits. A deposit that the wallet submitted itself is found by reference. */
function usePayment(depositId: string, onSent: () => void) {
  const build = useMutation(DepositService.method.buildDepositTransaction);
  const send = useMutation(DepositService.method.sendTransaction);
  return useWork({
    mutationFn: async (connected: ConnectedWallet) => {
      const { transaction } = await build.mutateAsync({ depositId, payer: connected.account.address });
      const signed = await signTransaction(connected, transaction);
      if (signed.kind === "sent") return;
      await sendSignedTransaction(
        (transaction) => send.mutateAsync({ transaction, depositId }),
        signed.transaction,
      );
    },
    onSuccess: onSent,
  });
}
