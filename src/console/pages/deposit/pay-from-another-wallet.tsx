import { useState, useMemo } from "react";
import type { Deposit } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { formatPlainUsd, formatUsd } from "../../format.ts";
import { Button, Card, Copyable, Dialog, Facts, Note } from "../../ui/index.ts";
import { encode } from "uqr";

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

/** A QR code, black on white in every theme: some cameras cannot read inverted codes. */
function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => qrPath(text), [text]);
  return (
    <svg
      className="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

/** Draws runs of dark modules as path segments, with the border of four modules of ISO/IEC 18004. */
function qrPath(text: string): { size: number; path: string } {
  const { size, data } = encode(text, { ecc: "L", border: 4 });
  let path = "";
  for (const [y, row] of data.entries()) {
    for (let x = 0; x < row.length; x += 1) {
      const start = x;
      while (row[x] === true) x += 1;
      if (x > start) path += `M${start} ${y}h${x - start}v1h${start - x}z`;
    }
  }
  return { size, path };
}
