/* Unpacks the columns of whole numbers that columns.py packs. */

/* The bytes that were deflated (zlib) and written in base64. */
async function inflated(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* The value whose JSON was deflated. */
async function inflatedValue(text) {
  return JSON.parse(new TextDecoder().decode(await inflated(text)));
}

/* The numbers of a packed column. */
async function unpack(text) {
  const data = await inflated(text), unfolded = (n) => (n % 2 ? -(n + 1) / 2 : n / 2);
  let at = 0;
  const first = () => {
    for (let n = 0, scale = 1; ; scale *= 128) {
      n += (data[at] & 127) * scale;
      if (data[at++] < 128) return n;
    }
  };
  const head = first(), middle = unfolded(first()), unit = Math.floor(head / 2);
  let count = 0;
  for (let k = at; k < data.length; k++) count += data[k] < 128;
  const column = new Float64Array(count), going = new Uint32Array(count);
  for (let i = 0; i < count; i++) going[i] = i;
  for (let left = count, scale = 1; left; scale *= 128) { // a group of each number that has one
    let more = 0;
    for (let k = 0; k < left; k++) {
      const i = going[k], byte = data[at++];
      column[i] += (byte & 127) * scale;
      if (byte > 127) going[more++] = i;
    }
    left = more;
  }
  const differ = head % 2 === 1;
  for (let i = 0, before = 0; i < count; i++) {
    const n = column[i], half = Math.floor(n / 2);
    column[i] = before + unit * (half * 2 === n ? half : -half - 1) + middle;
    if (differ) before = column[i];
  }
  return column;
}
