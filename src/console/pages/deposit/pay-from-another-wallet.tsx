import { useState } from "react";
import type { Deposit } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { formatPlainUsd, formatUsd } from "../../format.ts";
import { Button, Card, Copyable, Dialog, Facts, Note } from "../../ui/index.ts";
import { QrCode } from "./qr-code.tsx";

/** Pays by QR code, Solana Pay link or manual transfer. */
export function PayFromAnotherWallet({ deposit }: { deposit: Deposit }) {
  const { solanaPayUrl, recipient, amountUsdcMicrousd, memo, usdcMint } = deposit;
  const [enlarged, setEnlarged] = useState(false);
  const close = () => setEnlarged(false);
  return (
    <Card title="Pay from another wallet">
      <div className="pay-elsewhere">
        <div className="pay-scan">
          <div className="qr-place">
            <QrCode text={solanaPayUrl} label="Solana Pay code of this deposit" />
            <button
              type="button"
              className="qr-enlarge"
              aria-label="Enlarge the code"
              title="Enlarge the code"
              onClick={() => setEnlarged(true)}
            />
          </div>
          <a href={solanaPayUrl}>Open in a wallet app</a>
        </div>
        <div>
          <p>
            Scan this code with the wallet on your phone; it includes the amount and the memo. Or send the
            transfer manually with exactly these details:
          </p>
          <Facts
            facts={[
              ["To", <Copyable key="to" text={recipient} label="address" />],
              ["USDC", <Copyable key="amount" text={formatPlainUsd(amountUsdcMicrousd)} label="amount" />],
              ["Memo", <Copyable key="memo" text={memo} label="memo" />],
              ["Token", <Copyable key="mint" text={usdcMint} label="USDC mint" />],
            ]}
          />
        </div>
      </div>
      <Dialog
        open={enlarged}
        title={`Scan to pay ${formatUsd(amountUsdcMicrousd)}`}
        onClose={close}
        actions={
          <Button tone="primary" onClick={close}>
            Close
          </Button>
        }
      >
        <QrCode text={solanaPayUrl} label="Enlarged Solana Pay code" />
      </Dialog>
      <Note tone="warn" title="Include the memo">
        A payment without the memo cannot be matched to your account. It is held until the operator assigns it
        manually. Many exchanges cannot send a memo; withdraw to your own wallet first.
      </Note>
    </Card>
  );
}
