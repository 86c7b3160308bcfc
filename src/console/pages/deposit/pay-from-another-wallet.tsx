import type { Deposit } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { formatPlainUsd } from "../../format.ts";
import { Card, Copyable, Facts, Note } from "../../ui/index.ts";
import { QrCode } from "./qr-code.tsx";

/** Pays by QR code, Solana Pay link or manual transfer. */
export function PayFromAnotherWallet({ deposit }: { deposit: Deposit }) {
  const { solanaPayUrl, recipient, amountUsdcMicrousd, memo, usdcMint } = deposit;
  return (
    <Card title="Pay from another wallet">
      <div className="pay-elsewhere">
        <div className="pay-scan">
          <QrCode text={solanaPayUrl} label="Solana Pay code of this deposit" />
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
      <Note tone="warn" title="Include the memo">
        A payment without the memo cannot be matched to your account. It is held until the operator assigns it
        manually. Many exchanges cannot send a memo; withdraw to your own wallet first.
      </Note>
    </Card>
  );
}
