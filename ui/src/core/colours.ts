// The colours of graphs as this reader wants them.
import { PALETTES } from './palette';
import { dark, diffColours } from './settings';

export const coloursNow = () => PALETTES[diffColours.value][dark.value ? 'dark' : 'light'];
