/** Where a viewer's bytes go: one open connection. No method throws, whatever has become of the connection. */
export interface Sink {
  /** Whether more may be written at once; where not, a drain follows. */
  write(bytes: Buffer): boolean;
  /** Ends the connection once it has taken what was written. */
  end(): void;
  /** Cuts the connection and discards what it has not taken, in the kernel too. */
  reset(): void;
  onDrain(listener: () => void): void;
  /** Called once, however the connection ends. */
  onClose(listener: () => void): void;
}
