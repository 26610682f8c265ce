from analyzer.events.appending.appender import sealed as sealed
from analyzer.events.codec import Reject as Reject
from analyzer.events.codec import decode as decode
from analyzer.events.codec import encode as encode
from analyzer.events.log import EventLog as EventLog
from analyzer.events.log import error_payload as error_payload
from analyzer.events.model import Event as Event
from analyzer.events.model import Origin as Origin
